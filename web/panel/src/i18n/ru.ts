import { gather } from "./gather";

export default gather(import.meta.glob("../**/texts.ru.json", { eager: true, import: "default" }));
