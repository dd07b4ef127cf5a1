import type { MantineColorsTuple } from "@mantine/core";

type Rgb = [number, number, number];

const parse = (color: string): Rgb => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)) as Rgb;

const print = (color: Rgb) => "#" + color.map((part) => Math.round(part).toString(16).padStart(2, "0")).join("");

/** A mix of two colours; `share` is that of the second. */
const mix = (a: Rgb, b: Rgb, share: number): Rgb => a.map((part, i) => part + ((b[i] ?? 0) - part) * share) as Rgb;

/** Relative luminance (WCAG 2.2). */
export function luminance(color: string): number {
  const [r, g, b] = parse(color).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** White text on it is readable (4.5:1) below this luminance. */
const readable = 0.183;

/**
 * The ten shades of a brand's colour. Shade 7 is that of buttons and links: the colour itself, or as much darker as white
 * text on it needs, because a company may choose any colour.
 */
export function shades(color: string): MantineColorsTuple {
  let base = parse(color);
  while (luminance(print(base)) > readable) base = mix(base, [0, 0, 0], 0.05);
  const white: Rgb = [255, 255, 255];
  const light = [0.94, 0.86, 0.72, 0.58, 0.44, 0.28, 0.12].map((share) => print(mix(base, white, share)));
  const dark = [0, 0.2, 0.4].map((share) => print(mix(base, [0, 0, 0], share)));
  return [...light, ...dark] as unknown as MantineColorsTuple;
}
