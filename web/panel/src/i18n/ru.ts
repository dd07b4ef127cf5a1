import { gather } from "./gather";

export default gather(
  import.meta.glob(
    ["../{app,ui}/**/texts.ru.json", "../features/{client,help,overview}/texts.ru.json", "!../**/staff*/**"],
    { eager: true, import: "default" },
  ),
);
