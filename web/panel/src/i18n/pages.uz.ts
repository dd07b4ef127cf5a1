import { gather } from "./gather";

export default gather(
  import.meta.glob(
    ["../features/**/texts.uz.json", "!../features/{client,help,overview}/**", "!../features/staff*/**"],
    { eager: true, import: "default" },
  ),
);
