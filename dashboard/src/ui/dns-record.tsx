import { Fragment, type ReactNode } from 'react'
import { StatusBadge } from './badge.tsx'
import { CopyButton } from './copy-button.tsx'
import { type Tone } from './tone.ts'
import { useUiTexts } from './ui-texts.ts'

export interface DnsRecordProps {
  type: string
  name: string
  value: string
  ttl?: ReactNode
  /** MX only. */
  priority?: number | undefined
  purpose?: ReactNode
  status?: { tone: Tone; label: string; isLive?: boolean } | undefined
  /** Why the record is not found or not right, and what to change. */
  reason?: ReactNode
}

/** A name wraps before a dot. */
function Copyable({ label, value, isName = false }: { label: string; value: string; isName?: boolean }) {
  const texts = useUiTexts()
  return (
    <div className="flex min-w-0 items-start gap-1">
      <div className="min-w-0 grow">
        <div className="text-xs text-faint">{label}</div>
        <code className="block font-mono text-sm wrap-anywhere text-ink">
          {isName
            ? value.split(/(?=\.)/).map((part, i) => (
                <Fragment key={`${i} ${part}`}>
                  <wbr />
                  {part}
                </Fragment>
              ))
            : value}
        </code>
      </div>
      <CopyButton text={value} label={`${texts.copy}: ${label}`} />
    </div>
  )
}

/** A record to publish, each part with its copy button, and whether the DNS answers with it. */
export function DnsRecord({ type, name, value, ttl, priority, purpose, status, reason }: DnsRecordProps) {
  const texts = useUiTexts()
  return (
    <div className="min-w-0 rounded-lg border border-line bg-surface">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 border-b border-line px-4 py-2">
        <span className="flex min-w-0 items-center gap-2">
          <span className="rounded-sm bg-sunken px-1.5 font-mono text-xs leading-5 font-medium text-ink">{type}</span>
          {purpose !== undefined && <span className="text-sm text-muted">{purpose}</span>}
        </span>
        {status !== undefined && (
          <StatusBadge tone={status.tone} isLive={status.isLive}>
            {status.label}
          </StatusBadge>
        )}
      </div>
      <div className="grid gap-x-6 gap-y-3 px-4 py-3 md:grid-cols-[minmax(0,2fr)_minmax(0,3fr)_auto]">
        <Copyable label={texts.name} value={name} isName />
        <Copyable label={texts.value} value={value} />
        <dl className="flex gap-4 md:justify-end">
          {priority !== undefined && (
            <div>
              <dt className="text-xs text-faint">{texts.priority}</dt>
              <dd className="font-mono text-sm">{priority}</dd>
            </div>
          )}
          {ttl !== undefined && (
            <div>
              <dt className="text-xs text-faint">TTL</dt>
              <dd className="font-mono text-sm">{ttl}</dd>
            </div>
          )}
        </dl>
      </div>
      {reason !== undefined && <div className="border-t border-line px-4 py-2 text-sm text-muted">{reason}</div>}
    </div>
  )
}
