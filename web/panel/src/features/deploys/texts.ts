import { translator } from "~/i18n/i18n";

import type en from "./texts.en.json";

export const t = translator<typeof en>("deploys");
