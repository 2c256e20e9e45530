// A label of a log axis: 0.05 as it is, smaller numbers as 2·10⁻⁴.
const value = Number(tick.toPrecision(3))
if (value >= 0.01 && value < 10000) { return String(value) }
const [times, power] = value.toExponential().split("e")
const raised = [...power.replace("+", "")].map(sign => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻").join("")
return times === "1" ? `10${raised}` : `${times}·10${raised}`
