import type { ReactNode } from 'react'
import type { ReceivedTlsReport } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { NumberText } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'

interface TlsReportSheetProps {
  readonly report: ReceivedTlsReport | null
  readonly onClose: () => void
}

export function TlsReportSheet({ report, onClose }: TlsReportSheetProps): ReactNode {
  return (
    <Sheet isOpen={report !== null} onOpenChange={(open) => !open && onClose()} title={report?.organization ?? ''}>
      {report !== null && <TlsReport report={report} />}
    </Sheet>
  )
}

function TlsReport({ report }: { readonly report: ReceivedTlsReport }): ReactNode {
  const { administration } = useTexts()
  const { tls: texts } = administration
  return (
    <div className="flex flex-col gap-6">
      <KeyValueList
        items={[
          {
            label: texts.period,
            value: (
              <>
                <DateTime value={report.begins_at} /> – <DateTime value={report.ends_at} />
              </>
            ),
          },
          { label: texts.signer, value: report.signer ?? texts.unsigned },
          { label: texts.contact, value: <span className="break-all">{report.contact ?? '–'}</span> },
          { label: texts.via, value: `${report.via}, ${report.peer}` },
        ]}
      />
      {report.policies.map((policy) => (
        <Section key={`${policy.domain} ${policy.type}`} title={`${policy.domain}, ${policy.type}`}>
          <p className="text-sm text-muted">
            {texts.successes}: <NumberText value={policy.successes} /> · {texts.failures}:{' '}
            <NumberText value={policy.failures} />
          </p>
          <ul className="mt-2 flex flex-col gap-2 text-sm">
            {policy.details.map((detail, index) => (
              <li key={index} className="break-words">
                <span className="font-medium">{detail.result}</span> (<NumberText value={detail.count} />){' '}
                {[detail.mx_host, detail.mx_ip, detail.reason].filter((part) => part !== null).join(', ')}
              </li>
            ))}
          </ul>
        </Section>
      ))}
    </div>
  )
}
