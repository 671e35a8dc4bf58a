// Elements from plain values. Texts become text nodes, so nothing that a server sends is read as HTML.

// h("a", {href: "#/x", class: "y", onclick: f}, "text", child, [more]). False and null children are left out.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

// A table with a caption for screen readers. Columns: {heading, number, class, sorted}; rows: lists of contents.
export function table(caption, columns, rows, attributes = {}) {
  return h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
    h("table", attributes,
      h("caption", {class: "quiet-caption"}, caption),
      h("thead", {}, h("tr", {}, columns.map((c) => h("th", {scope: "col", class: c.number ? "number" : null, "aria-sort": c.sorted}, c.heading)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) =>
        h(i === 0 ? "th" : "td", {scope: i === 0 ? "row" : null, class: columns[i].number ? "number" : columns[i].class}, cell)))))));
}

// A labelled choice; `options`: strings or [value, text].
export function choice(label, value, options, change) {
  const select = h("select", {name: label, onchange: () => change(select.value)}, options.map((one) => {
    const [key, text] = Array.isArray(one) ? one : [one, one];
    return h("option", {value: key, selected: key === value}, text);
  }));
  return h("label", {class: "field"}, h("span", {}, label), select);
}

export function button(text, action, attributes = {}) {
  return h("button", {type: "button", onclick: action, ...attributes}, text);
}

export function notice(text, kind = "error") {
  return h("p", {class: `notice ${kind}`, role: kind === "error" ? "alert" : "status"}, text);
}

// Asks in a dialog; resolves to true when the person agrees.
export function ask(question, agree) {
  return new Promise((resolve) => {
    const dialog = h("dialog", {"aria-label": question},
      h("p", {}, question),
      h("form", {method: "dialog", class: "row"},
        h("button", {value: "no", autofocus: true}, "No"),
        h("button", {value: "yes", class: "danger"}, agree)));
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
    document.body.append(dialog);
    dialog.showModal();
  });
}
