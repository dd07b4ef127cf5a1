import { useEffect, useRef } from "react";

/**
 * Shows the HTML of a mail as mail programs do. The policy of the page allows no style attributes and no frames, so the styles
 * are set by script, in a shadow tree that keeps them from the page and the page's from them. Nothing in it can be clicked.
 */
export function MailHTML({ html, label }: { html: string; label: string }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    const { markup, rules } = withoutStyles(html);
    const mail = new DOMParser().parseFromString(markup, "text/html");
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules);
    root.adoptedStyleSheets = [sheet];
    const ground = document.createElement("div");
    ground.className = mail.body.className;
    ground.inert = true;
    for (const child of [...mail.body.children]) {
      if (child instanceof HTMLTableElement) ground.append(styled(child));
    }
    root.replaceChildren(ground);
  }, [html]);
  return <div ref={host} role="img" aria-label={label} />;
}

/** The styles apart, because a parsed document has the policy of the page. In texts, quotation marks and brackets are escaped. */
function withoutStyles(html: string) {
  let rules = "";
  const markup = html
    .replace(/<style>([^<]*)<\/style>/, (_, found: string) => {
      rules = found;
      return "";
    })
    .replaceAll(' style="', ' data-style="');
  return { markup, rules };
}

/** A copy of an element without attributes that run something, whose styles are set by script. */
function styled(element: Element): Element {
  const copy = document.createElement(element.tagName);
  for (const { name, value } of element.attributes) {
    if (name === "data-style") copy.style.cssText = value;
    else if (!name.startsWith("on")) copy.setAttribute(name, value);
  }
  for (const child of element.childNodes)
    copy.append(child instanceof Element ? styled(child) : (child.textContent ?? ""));
  return copy;
}
