// It runs between BokehJS and Panel.
//
// Of Panel's models, the page has those below.  The others would need two more libraries of BokehJS, each a third of a
// megabyte; of these, two classes that the ones below extend or name are layouts here.
{
  const models = {Column: "models/column", ReactComponent: "models/react_component", ReactiveESM: "models/reactive_esm"}
  const widget = "topiary/widget"
  const register = Bokeh.register_plugin
  Bokeh.register_plugin = (modules, entry, aliases) => {
    modules[aliases["models/index"]] = (require, _, exports) => {
      Object.entries(models).forEach(([name, path]) => { exports[name] = require(path)[name] })
    }
    modules[widget] = (require, _, exports) => {
      const {LayoutDOM, LayoutDOMView} = require("@bokehjs/models/layouts/layout_dom")
      Object.assign(exports, {Widget: LayoutDOM, WidgetView: LayoutDOMView, Markup: LayoutDOM, MarkupView: LayoutDOMView})
    }
    const lacking = Object.fromEntries(["widget", "markup"].map(name => [`models/widgets/${name}`, widget]))
    return register(modules, entry, {...aliases, ...lacking})
  }
}
