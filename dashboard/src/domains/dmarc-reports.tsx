/** DMARC of a domain, and the other policies that its owner may publish: what each does, and the record for it. */
import type { ReactNode } from 'react'
import type { Domain } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { DnsRecord } from '#dashboard/src/ui/dns-record.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { DmarcReportSummary } from './dmarc-summary.tsx'
import { recordTone } from './domain-status.tsx'
import { policyRecords } from './policy-records.ts'

export function DmarcReports({ domain }: { readonly domain: Domain }): ReactNode {
  const { domains } = useTexts()
  const say = useServerText()
  const record = domain.dns_records.find(({ purpose }) => purpose === 'dmarc')
  return (
    <div className="flex flex-col gap-8">
      <Section title={domains.purposes.dmarc.title} description={domains.dmarcText}>
        {record !== undefined && (
          <DnsRecord
            type={record.type}
            name={record.name}
            value={record.value}
            status={{ tone: recordTone(record), label: domains.recordStatus[record.status] }}
            reason={record.message === null ? undefined : say(record.message, record.translation)}
          />
        )}
        <ol className="mt-4 list-decimal space-y-1 pl-5 text-muted">
          {domains.dmarcSteps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      </Section>
      <DmarcReportSummary domain={domain} />
      {policyRecords(domain.domain).map(({ policy, records }) => (
        <Section key={policy} title={domains.policies[policy].title} description={domains.policies[policy].text}>
          <div className="flex flex-col gap-3">
            {records.map((one) => (
              <DnsRecord key={one.name} {...one} purpose={domains.example} />
            ))}
            <ul className="list-disc space-y-1 pl-5 text-muted">
              {domains.policies[policy].needs.map((need) => (
                <li key={need}>{need}</li>
              ))}
            </ul>
          </div>
        </Section>
      ))}
    </div>
  )
}
