import { createTheme, MantineProvider, mergeThemeOverrides } from "@mantine/core";
import { lazy, Suspense, useMemo, type ReactNode } from "react";

import { useLang, type Lang } from "~/i18n/i18n";
import { t } from "~/ui/texts";

import { boot, nonce } from "./boot";
import { shades } from "./brand";

const Notices = lazy(() => import("./Notices").then((file) => ({ default: file.Notices })));

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

/** The theme in a language: what closes a dialog or a notice is an icon, named for screen readers. */
const themeIn = (_lang: Lang) => {
  const closes = { defaultProps: { closeButtonProps: { "aria-label": t("close") } } };
  return mergeThemeOverrides(theme, { components: { Modal: closes, Notification: closes } });
};

/** Colours, sizes and notices of the whole application. Everything below is drawn again when the language changes. */
export function Look({ children }: { children: ReactNode }) {
  const lang = useLang();
  const localized = useMemo(() => themeIn(lang), [lang]);
  return (
    <MantineProvider theme={localized} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <Suspense>
        <Notices />
      </Suspense>
      <div key={lang} lang={lang}>
        {children}
      </div>
    </MantineProvider>
  );
}
