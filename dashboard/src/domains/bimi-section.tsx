/** The logo of a domain beside its mail: the record, what the last check found, and the addresses of the files. */
import { Pencil } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { Domain } from '#dashboard/src/api/endpoints.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { DnsRecord } from '#dashboard/src/ui/dns-record.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { BimiDialog } from './bimi-dialog.tsx'
import { recordTone } from './domain-status.tsx'

export function BimiSection({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const can = useCan()
  const [isOpen, setIsOpen] = useState(false)
  const { bimi, dns_records: records } = domain
  const record = records.find(({ purpose }) => purpose === 'bimi')
  return (
    <Section
      title={domains.purposes.bimi.title}
      description={domains.purposes.bimi.text}
      actions={
        can('domains:write') && (
          <Button icon={Pencil} onClick={() => setIsOpen(true)}>
            {bimi.logo_url === null ? domains.bimi.setUp : domains.bimi.change}
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-3">
        {record !== undefined && (
          <DnsRecord
            type={record.type}
            name={record.name}
            value={record.value}
            purpose={domains.bimi.optional}
            status={{ tone: recordTone(record), label: domains.recordStatus[record.status] }}
            reason={record.status === 'ok' ? undefined : (record.message ?? undefined)}
          />
        )}
        {record === undefined && (
          <ul className="list-disc space-y-1 pl-5 text-muted">
            {domains.bimi.needs.map((need) => (
              <li key={need}>{need}</li>
            ))}
          </ul>
        )}
        <BimiFindings findings={bimi.findings} />
      </div>
      <BimiDialog domain={domain} isOpen={isOpen} onClose={() => setIsOpen(false)} />
    </Section>
  )
}

type BimiSaid = Pick<
  Domain['bimi']['findings'][number],
  'message' | 'message_translation' | 'next' | 'next_translation'
>

/** What was found, then what to do. Whole sentences need no colon between. */
function useBimiText(): (said: BimiSaid) => string {
  const say = useServerText()
  return ({ message, message_translation: ofMessage, next, next_translation: ofNext }) => {
    const found = say(message, ofMessage)
    if (next === null) return found
    return `${found}${found.endsWith('.') ? '' : ':'} ${say(next, ofNext)}`
  }
}

function BimiFindings({ findings }: { readonly findings: Domain['bimi']['findings'] }): ReactNode {
  const { domains } = useTexts()
  const say = useBimiText()
  return (
    <ul className="flex flex-col gap-2" aria-label={domains.bimi.findings}>
      {findings.map(({ subject, status, ...said }) => (
        <li key={subject} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 text-sm">
          <span className="w-32 shrink-0 font-medium">{domains.bimi.subjects[subject]}</span>
          <StatusBadge tone={recordTone({ status, required: false })}>{domains.bimi.status[status]}</StatusBadge>
          <span className="min-w-0 flex-1 basis-56 break-words text-muted">{say(said)}</span>
        </li>
      ))}
    </ul>
  )
}
