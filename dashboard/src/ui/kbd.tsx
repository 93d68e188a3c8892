const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** Keys as people know them: `mod+k`, `g m`, `Enter`. */
export function Kbd({ keys }: { keys: string }) {
  const parts = keys
    .split(/[+ ]/)
    .map((key) => (key === 'mod' ? (isMac ? '⌘' : 'Ctrl') : key.length === 1 ? key.toUpperCase() : key))
  return (
    <kbd className="inline-flex gap-0.5 font-sans text-xs text-muted">
      {parts.map((part, index) => (
        <span
          key={`${part}-${index.toString()}`}
          className="inline-flex h-4.5 min-w-4.5 items-center justify-center rounded-xs border border-line bg-surface px-1"
        >
          {part}
        </span>
      ))}
    </kbd>
  )
}
