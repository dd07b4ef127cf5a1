import { gather } from "./gather";

export default gather(import.meta.glob("../**/staff*/texts.ru.json", { eager: true, import: "default" }));
