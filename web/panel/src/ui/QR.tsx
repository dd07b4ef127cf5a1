import { encode } from "uqr";

/** A text as a QR code, drawn as one path: dark on light in both schemes, because readers expect it. */
export function QR({ text, label, size = 200 }: { text: string; label: string; size?: number }) {
  const { data, size: cells } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg role="img" aria-label={label} width={size} height={size} viewBox={`0 0 ${cells} ${cells}`}>
      <rect width={cells} height={cells} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
