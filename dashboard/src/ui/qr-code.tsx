import { useMemo } from 'react'
import { encode } from 'uqr'

/** A QR code: always dark on white, because cameras expect it. Show the text beside it too. */
export function QrCode({ text, label, size = 176 }: { text: string; label: string; size?: number }) {
  const code = useMemo(() => encode(text, { border: 3, ecc: 'M' }), [text])
  const path = code.data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x.toString()} ${y.toString()}h1v1h-1z` : '')))
    .join('')
  return (
    <svg
      role="img"
      aria-label={label}
      width={size}
      height={size}
      viewBox={`0 0 ${code.size.toString()} ${code.size.toString()}`}
      shapeRendering="crispEdges"
      className="rounded-md border border-line"
    >
      <rect width="100%" height="100%" fill="#ffffff" />
      <path d={path} fill="#171a21" />
    </svg>
  )
}
