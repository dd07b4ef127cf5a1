import { EditorState, type Extension } from "@codemirror/state";

/** What separates the lines of a text; null when it is not the same everywhere. */
export function separatorOf(text: string): string | null {
  const [one = "\n", ...others] = new Set(text.match(/\r\n|\r|\n/g));
  return others.length === 0 ? one : null;
}

/** Makes an editor keep the line ends of a text that mixes them: only "\n" separates, the rest belongs to the lines. */
export const keepMixed = (text: string): Extension =>
  separatorOf(text) === null ? EditorState.lineSeparator.of("\n") : [];

/** The text of an editor, its lines separated as in the file. */
export const textOf = (state: EditorState, separator: string | null) =>
  state.doc.sliceString(0, state.doc.length, state.facet(EditorState.lineSeparator) ?? separator ?? "\n");
