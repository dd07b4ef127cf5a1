import { Anchor, Text } from "@mantine/core";

import { parts } from "./links";

/** A text that somebody has written: its lines stay, its addresses are links, and nothing else in it means anything. */
export function PlainText({ text }: { text: string }) {
  return (
    <Text component="div" style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
      {parts(text).map((part, at) =>
        part.link ? (
          <Anchor key={at} href={part.text} target="_blank" rel="noreferrer">
            {part.text}
          </Anchor>
        ) : (
          part.text
        ),
      )}
    </Text>
  );
}
