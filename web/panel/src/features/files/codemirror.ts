import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
  type LanguageSupport,
} from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

import { nonce } from "~/app/boot";

import { t } from "./texts";

/** The language of a file by its name. */
export async function languageOf(name: string): Promise<LanguageSupport | null> {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  switch (extension) {
    case "php":
    case "phtml":
      return (await import("@codemirror/lang-php")).php();
    case "html":
    case "htm":
    case "xml":
    case "svg":
    case "vue":
      return (await import("@codemirror/lang-html")).html();
    case "css":
    case "scss":
    case "less":
      return (await import("@codemirror/lang-css")).css();
    case "js":
    case "mjs":
    case "cjs":
    case "jsx":
    case "ts":
    case "tsx":
      return (await import("@codemirror/lang-javascript")).javascript({
        jsx: extension.endsWith("x"),
        typescript: extension.startsWith("ts"),
      });
    case "json":
    case "webmanifest":
    case "map":
      return (await import("@codemirror/lang-json")).json();
    default:
      return null;
  }
}

/** Colours with at least 4.5:1 on both grounds; app.css names them for light and dark. */
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  { tag: [tags.comment, tags.meta], color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.tagName, tags.angleBracket], color: "var(--code-tag)" },
  { tag: [tags.attributeName, tags.propertyName], color: "var(--code-property)" },
  { tag: [tags.function(tags.variableName), tags.className, tags.typeName], color: "var(--code-name)" },
  { tag: tags.invalid, color: "var(--status-bad)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "0.875rem", backgroundColor: "var(--mantine-color-body)" },
  "&.cm-focused": { outline: "2px solid var(--mantine-primary-color-filled)" },
  ".cm-scroller": { fontFamily: "var(--mantine-font-family-monospace)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--mantine-color-text)" },
  ".cm-cursor": { borderLeftColor: "var(--mantine-color-text)" },
  ".cm-gutters": {
    backgroundColor: "var(--mantine-color-body)",
    color: "var(--mantine-color-dimmed)",
    borderRight: "1px solid var(--mantine-color-default-border)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--mantine-color-default-hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--mantine-primary-color-light-hover)",
  },
  ".cm-deletedChunk .cm-chunkButtons button": { color: "var(--mantine-color-body)" },
  ".cm-deletedChunk .cm-chunkButtons button[name=accept]": { backgroundColor: "var(--status-good)" },
  ".cm-deletedChunk .cm-chunkButtons button[name=reject]": { backgroundColor: "var(--status-bad)" },
  ".cm-panels": { backgroundColor: "var(--mantine-color-body)", color: "var(--mantine-color-text)" },
  ".cm-panel.cm-search": { padding: "0.5rem" },
  ".cm-textfield": { backgroundColor: "var(--mantine-color-body)", color: "inherit", fontSize: "0.875rem" },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--mantine-color-default)",
    border: "1px solid var(--mantine-color-default-border)",
    color: "inherit",
  },
});

/** The search panel speaks the page's language. */
const phrases = () =>
  EditorState.phrases.of({
    Find: t("cm.find"),
    Replace: t("cm.replace_with"),
    next: t("cm.next"),
    previous: t("cm.previous"),
    all: t("cm.all"),
    "match case": t("cm.case"),
    regexp: t("cm.regexp"),
    "by word": t("cm.word"),
    replace: t("cm.replace"),
    "replace all": t("cm.replace_all"),
    close: t("close"),
    Accept: t("cm.accept"),
    Reject: t("cm.reject"),
    "Go to line": t("cm.line"),
    go: t("cm.go"),
  });

export const merging = new Compartment();

/**
 * Replaces the selection by what is typed. Left to the browser, the new text gets the colours of the old one as a style of
 * the element, which the page's policy refuses.
 */
const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== "insertText" || !event.data || event.isComposing || view.state.readOnly) return false;
    if (view.state.selection.ranges.every((range) => range.empty)) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

/** What every editor of the panel is made of. */
export const basics = (label: string, language: LanguageSupport | null): Extension[] => [
  EditorView.cspNonce.of(nonce),
  phrases(),
  replacing,
  lineNumbers(),
  foldGutter(),
  history(),
  drawSelection(),
  indentOnInput(),
  indentUnit.of("    "),
  bracketMatching(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  highlightSelectionMatches(),
  search({ top: true }),
  syntaxHighlighting(colours),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
  keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, indentWithTab]),
  theme,
  merging.of([]),
  language ?? [],
];
