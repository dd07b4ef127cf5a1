import { createTheme, MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import type { ReactNode } from "react";

import { useLang } from "~/i18n/i18n";

import { boot, nonce } from "./boot";
import { shades } from "./brand";

/** A calm green, where the company has chosen no colour. */
const brand = shades(boot.color || "#0f7a50");

const theme = createTheme({
  colors: { brand },
  primaryColor: "brand",
  primaryShade: 7,
  autoContrast: true,
  luminanceThreshold: 0.18, // on either side of it the text has a contrast of 4.5:1
  defaultRadius: "md",
  cursorType: "pointer",
  components: { Anchor: { defaultProps: { underline: "not-hover" } } }, // within a sentence, colour alone marks no link
  respectReducedMotion: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  headings: { fontWeight: "650", sizes: { h1: { fontSize: "1.625rem" }, h2: { fontSize: "1.125rem" } } },
});

/** Colours, sizes and notices of the whole application. Everything below is drawn again when the language changes. */
export function Look({ children }: { children: ReactNode }) {
  const lang = useLang();
  return (
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <Notifications position="bottom-right" limit={4} />
      <div key={lang} lang={lang}>
        {children}
      </div>
    </MantineProvider>
  );
}
