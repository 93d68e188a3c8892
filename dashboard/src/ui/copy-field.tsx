import { CopyButton } from './copy-button.tsx'

export interface CopyFieldProps {
  value: string
  /** What the copy button is called: `Copy the key`. */
  label: string
}

/** A value that people paste elsewhere. A click into it selects all of it. */
export function CopyField({ value, label }: CopyFieldProps) {
  return (
    <div className="flex min-w-0 items-center rounded-md border border-line bg-sunken pl-2.5">
      <code className="min-w-0 grow py-1.5 font-mono text-sm break-all select-all">{value}</code>
      <CopyButton text={value} label={label} />
    </div>
  )
}
