/** Where a received mail came from, what the checks of its sender found, why its verdict is what it is. */
import type { ReactNode } from 'react'
import type { ReceivedEmail, ReceivedEmailContent } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { ByteSize, NumberText } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

const TONES: Readonly<Record<string, Tone>> = {
  pass: 'success',
  fail: 'danger',
  softfail: 'warning',
  permerror: 'danger',
}

function Result({
  result,
  details,
}: {
  readonly result: string
  readonly details: readonly (string | null)[]
}): ReactNode {
  const shown = details.filter((one) => one !== null)
  return (
    <span className="flex min-w-0 flex-wrap items-center gap-2">
      <Badge tone={TONES[result] ?? 'neutral'}>{result}</Badge>
      <span className="min-w-0 text-sm break-words text-muted">{shown.join(' · ')}</span>
    </span>
  )
}

export function ReceivedFacts({ mail }: { readonly mail: ReceivedEmail }): ReactNode {
  const { received } = useTexts()
  const path = useWorkspacePath()
  const { content } = mail
  return (
    <div className="flex min-w-0 flex-col gap-8">
      {content !== null && <Authentication content={content} />}
      {content !== null && (
        <Section title={received.verdict}>
          <KeyValueList
            items={[
              { label: received.verdict, value: received.verdicts[content.spam.verdict] },
              { label: received.score, value: <NumberText value={content.spam.score} isExact /> },
              {
                label: received.rules,
                value:
                  content.spam.reasons.length === 0 ? (
                    received.noRule
                  ) : (
                    <span className="flex flex-wrap gap-1.5">
                      {content.spam.reasons.map((reason) => (
                        <Badge key={reason}>{reason}</Badge>
                      ))}
                    </span>
                  ),
              },
            ]}
          />
        </Section>
      )}
      <Section title={received.envelope}>
        <KeyValueList
          items={[
            { label: received.to, value: mail.recipient },
            { label: received.mailFrom, value: mail.mail_from === '' ? received.noSender : mail.mail_from },
            { label: received.received, value: <DateTime value={mail.received_at} precision="second" /> },
            { label: received.size, value: <ByteSize bytes={mail.size} /> },
            ...(content === null
              ? []
              : [
                  { label: received.peer, value: `${content.helo} [${content.peer}]` },
                  { label: 'TLS', value: content.is_tls ? received.yes : received.no },
                  { label: received.automatic, value: content.is_automatic ? received.yes : received.no },
                ]),
            {
              label: received.route,
              value: <LinkText href={path('/received', { route_id: mail.route_id })}>{received.sameRoute}</LinkText>,
            },
            ...(mail.forward_result === null
              ? []
              : [
                  {
                    label: received.forwarding,
                    value:
                      mail.forward_email_id === null ? (
                        mail.forward_result
                      ) : (
                        <LinkText href={path(`/messages/${mail.forward_email_id}`)}>{received.forwardMessage}</LinkText>
                      ),
                  },
                ]),
          ]}
        />
      </Section>
    </div>
  )
}

function Authentication({ content }: { readonly content: ReceivedEmailContent }): ReactNode {
  const { received } = useTexts()
  const { spf, dkim, dmarc, arc } = content.authentication
  const signatures = dkim.map(({ result, domain, selector, is_aligned: isAligned }, index) => ({
    key: `dkim ${index}`,
    label: 'DKIM',
    value: (
      <Result
        result={result}
        details={[
          domain,
          selector === null ? null : `s=${selector}`,
          isAligned ? received.aligned : received.notAligned,
        ]}
      />
    ),
  }))
  return (
    <Section title={received.authentication}>
      <KeyValueList
        items={[
          {
            label: 'DMARC',
            value: (
              <Result
                result={dmarc.result}
                details={[dmarc.domain, dmarc.policy === null ? null : received.policy(dmarc.policy)]}
              />
            ),
          },
          { label: 'SPF', value: <Result result={spf.result} details={[spf.domain]} /> },
          ...(signatures.length === 0
            ? [{ label: 'DKIM', value: <Result result="none" details={[received.noSignature]} /> }]
            : signatures),
          { label: 'ARC', value: <Result result={arc.result} details={[arc.domain]} /> },
        ]}
      />
    </Section>
  )
}
