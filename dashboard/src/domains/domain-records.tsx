/** The records to publish, in groups by what they are for, each with what DNS answered in the last check. */
import type { ReactNode } from 'react'
import type { DnsRecord as ApiRecord, Domain } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { CopyButton } from '#dashboard/src/ui/copy-button.tsx'
import { DnsRecord } from '#dashboard/src/ui/dns-record.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { DateTime, RelativeTime } from '#dashboard/src/ui/times.tsx'
import { BimiSection } from './bimi-section.tsx'
import { PartStatus, recordTone } from './domain-status.tsx'
import { groupRecords, toZoneFile, type RecordGroup } from './record-groups.ts'

export function DomainRecords({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const say = useServerText()
  const {
    recommendations,
    recommendation_translations: translations,
    dns_records: records,
    dns_records_to_remove: superfluous,
  } = domain
  return (
    <div className="flex flex-col gap-8">
      <NextStep domain={domain} />
      {recommendations.length > 0 && (
        <Callout tone="info" title={domains.recommended}>
          <ul className="list-disc space-y-1 pl-5">
            {recommendations.map((text, index) => (
              <li key={text}>{say(text, translations[index])}</li>
            ))}
          </ul>
        </Callout>
      )}
      {groupRecords(records.filter(({ purpose }) => purpose !== 'bimi')).map((group) => (
        <RecordSection key={group.purpose} group={group} domain={domain} />
      ))}
      <BimiSection domain={domain} />
      {superfluous.length > 0 && (
        <Section title={domains.superfluous} description={domains.superfluousText}>
          <div className="flex flex-col gap-3">
            {superfluous.map((record) => (
              <DnsRecord key={record.name} {...record} />
            ))}
          </div>
        </Section>
      )}
      <Facts domain={domain} />
      <div>
        <CopyButton text={toZoneFile(records)} label={domains.copyZone} hasText />
      </div>
    </div>
  )
}

/** What the owner should do now; nothing if all is well. */
function NextStep({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const say = useServerText()
  const failing = domain.dns_records.find(({ required, status }) => required && status !== 'ok' && status !== 'pending')
  if (domain.status === 'verified' && failing === undefined) return null
  return (
    <Callout tone={domain.status === 'pending' ? 'info' : 'warning'} title={domains.nextStep[domain.status]}>
      {failing?.message == null ? domains.nextStepText : say(failing.message, failing.translation)}
    </Callout>
  )
}

function RecordSection({ group, domain }: { readonly group: RecordGroup; readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const { purpose, records, found } = group
  const texts = domains.purposes[purpose]
  const part =
    purpose === 'mail_from' ? domain.mail_from_status : purpose === 'tracking' ? domain.tracking_status : null
  return (
    <Section
      title={texts.title}
      description={texts.text}
      actions={
        part === null ? (
          <span className="text-sm text-muted">{domains.recordCount(found, records.length)}</span>
        ) : (
          <PartStatus status={part} />
        )
      }
    >
      <div className="flex flex-col gap-3">
        {records.map((record) => (
          <Record key={`${record.type} ${record.name}`} record={record} />
        ))}
      </div>
    </Section>
  )
}

function Record({ record }: { readonly record: ApiRecord }): ReactNode {
  const { domains } = useTexts()
  const say = useServerText()
  const { type, name, value, priority, required, status, message, purpose } = record
  const alternative =
    purpose === 'dkim' && name.includes('-ed._domainkey.') ? domains.secondSignature : domains.optional
  return (
    <DnsRecord
      type={type}
      name={name}
      value={value}
      priority={priority ?? undefined}
      purpose={required ? domains.required : alternative}
      status={{ tone: recordTone(record), label: domains.recordStatus[status], isLive: status === 'pending' }}
      reason={status === 'ok' || message === null ? undefined : say(message, record.translation)}
    />
  )
}

function Facts({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  return (
    <Section title={domains.facts}>
      <KeyValueList
        items={[
          {
            label: domains.lastChecked,
            value:
              domain.last_checked_at === null ? domains.notChecked : <RelativeTime value={domain.last_checked_at} />,
          },
          {
            label: domains.verifiedSince,
            value: domain.verified_at === null ? '–' : <DateTime value={domain.verified_at} />,
          },
          { label: domains.added, value: <DateTime value={domain.created_at} /> },
          { label: domains.region, value: `${domains.regions[domain.region]} (${domain.region})` },
          { label: domains.dnsProvider, value: domain.dns_provider ?? domains.unknown },
          { label: domains.registrar, value: domain.registrar_name ?? domains.unknown },
        ]}
      />
    </Section>
  )
}
