// Where a log axis has its labels: powers of ten over many decades, 1-2-5 over few, even steps within one.
const {start, end} = cb_data.range
const low = Math.min(start, end), high = Math.max(start, end)
if (!(low > 0) || high === low) { return [] }
const decades = Math.log10(high / low)
const found = []
if (decades < 0.7) {
  const rough = (high - low) / 5
  const ten = 10 ** Math.floor(Math.log10(rough))
  const step = ten * [1, 2, 5, 10].find(times => times * ten >= rough)
  for (let place = Math.ceil(low / step); place * step <= high; place++) { found.push(place * step) }
  return found
}
const every = Math.max(1, Math.round(decades / 6))
for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
  if (power % every !== 0) { continue }
  for (const times of decades < 3 ? [1, 2, 5] : [1]) {
    const value = times * 10 ** power
    if (value >= low && value <= high) { found.push(value) }
  }
}
return found
