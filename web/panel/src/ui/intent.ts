import { useState } from "react";

import { newKey } from "~/api/client";

import { intentKeys } from "./intentkeys";

/** The keys of what one form sends: see intentKeys. */
export const useIntent = () => useState(() => intentKeys(newKey))[0];
