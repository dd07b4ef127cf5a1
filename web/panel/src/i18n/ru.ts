import { gather } from "./gather";

export default gather(
  import.meta.glob(["../**/texts.ru.json", "!../**/staff*/**"], { eager: true, import: "default" }),
);
