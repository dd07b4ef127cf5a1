/** A part of a text: an address of the web that becomes a link, or words. */
export interface Part {
  text: string;
  link: boolean;
}

/** Divides a plain text at its addresses. What ends a sentence is no part of an address; neither is a bracket around it. */
export function parts(text: string): Part[] {
  const found: Part[] = [];
  let at = 0;
  for (const match of text.matchAll(/https?:\/\/[^\s<>"]+/g)) {
    let address = match[0].replace(/[.,;:!?'»”…]+$/, "");
    while (address.endsWith(")") && address.split("(").length < address.split(")").length) {
      address = address.slice(0, -1).replace(/[.,;:!?]+$/, "");
    }
    if (match.index > at) found.push({ text: text.slice(at, match.index), link: false });
    found.push({ text: address, link: true });
    at = match.index + address.length;
  }
  if (at < text.length) found.push({ text: text.slice(at), link: false });
  return found;
}
