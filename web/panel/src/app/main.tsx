import "@mantine/core/styles.layer.css";
import "@mantine/notifications/styles.layer.css";
import "./app.css";

import { notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { setNonce } from "get-nonce";
import { StrictMode, startTransition } from "react";
import { createRoot } from "react-dom/client";

import { wasForeign } from "~/api/page";
import { setLanguage } from "~/i18n/i18n";
import { loadPageTexts } from "~/i18n/parts";

import { boot, nonce } from "./boot";
import { keepFocus } from "./focus";
import { Look } from "./Look";
import { queryClient } from "./queries";
import { Questions } from "./Questions";
import { router } from "./router";
import { SessionDialog } from "./SessionDialog";
import { t } from "./texts";

// After an upgrade of the server, chunks of the old build are gone: load the new one, once.
window.addEventListener("vite:preloadError", (event) => {
  const last = Number(sessionStorage.getItem("stead.reloaded"));
  if (Date.now() - last < 60_000) return;
  event.preventDefault();
  sessionStorage.setItem("stead.reloaded", String(Date.now()));
  location.reload();
});

setNonce(nonce);
keepFocus();
void draw();

async function draw() {
  const root = document.getElementById("root");
  if (!root) throw new Error("the page has no root");
  await setLanguage(boot.lang);
  // The first page's code and data are there before it is drawn, all at once: what came later would be drawn in one long step. What
  // the server has drawn stays until then. Who waits longer gets the menu meanwhile.
  const loaded = router.load().catch(() => undefined); // the page says what failed
  await Promise.race([loaded, new Promise((resolve) => setTimeout(resolve, 2000))]);
  if (wasForeign()) {
    const name = boot.account?.email ?? boot.client?.name ?? "";
    notifications.show({ message: t("foreign", { name }), autoClose: false });
  }
  // As a transition React draws in small steps, so that what somebody does meanwhile is answered.
  startTransition(() =>
    createRoot(root).render(
      <StrictMode>
        <Look>
          <QueryClientProvider client={queryClient}>
            <RouterProvider router={router} />
            <Questions />
            <SessionDialog />
          </QueryClientProvider>
        </Look>
      </StrictMode>,
    ),
  );
  // While the first page is read, for the next one. A page that needs them waits for them, and says what failed.
  setTimeout(() => void loadPageTexts().catch(() => undefined), 2000);
}
