import { gather } from "./gather";

export default gather(import.meta.glob("../**/texts.uz.json", { eager: true, import: "default" }));
