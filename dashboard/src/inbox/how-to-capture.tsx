/** An inbox without mail teaches how to fill it: a request to paste, and the addresses that simulate an outcome. */
import type { ReactNode } from 'react'
import { Inbox } from '#dashboard/src/ui/icons.tsx'
import { getDomains, getWorkspace } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { CodeBlock } from '#dashboard/src/ui/code-block.tsx'
import { CopyField } from '#dashboard/src/ui/copy-field.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'

const SIMULATORS = ['bounce', 'defer-3', 'slow-5', 'late-bounce', 'complaint', 'unsubscribe'] as const

export function HowToCapture(): ReactNode {
  const { inbox } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const domains = useApi(getDomains, {}, { isEnabled: can('domains:read') })
  const workspace = useApi(getWorkspace, {}, { isEnabled: can('workspace:read') })
  const known = domains.data?.data ?? []
  const domain = (known.find(({ status }) => status === 'verified') ?? known[0])?.domain ?? 'example.com'
  const capture = workspace.data?.data.capture.address
  const to = capture ?? 'anna@example.com'
  return (
    <div className="mx-auto flex max-w-3xl min-w-0 flex-col gap-6 py-4">
      <div className="flex items-start gap-3">
        <Inbox size={20} aria-hidden="true" className="mt-1 shrink-0 text-faint" />
        <div className="min-w-0">
          <h2 className="text-lg font-semibold text-ink">{inbox.empty}</h2>
          <p className="mt-1 text-muted">{inbox.emptyText}</p>
        </div>
      </div>
      <Section
        level={3}
        title={inbox.sendOne}
        description={
          <>
            {inbox.keyNeeded} <LinkText href={path('/keys')}>{inbox.makeKey}</LinkText>
          </>
        }
      >
        <CodeBlock title="curl" text={curlOf(domain, to)} isWrapped />
      </Section>
      {capture !== undefined && (
        <Section level={3} title={inbox.captureAddress} description={inbox.captureAddressText}>
          <CopyField label={inbox.captureAddress} value={capture} />
        </Section>
      )}
      <Section level={3} title={inbox.simulators} description={inbox.simulatorsText}>
        <dl className="grid gap-x-6 gap-y-2 sm:grid-cols-[max-content_minmax(0,1fr)]">
          {SIMULATORS.map((name) => (
            <div key={name} className="contents">
              <dt className="font-mono text-sm text-ink">{name}@…</dt>
              <dd className="mb-2 text-sm text-muted sm:mb-0">{inbox.simulated[name]}</dd>
            </div>
          ))}
        </dl>
      </Section>
    </div>
  )
}

function curlOf(domain: string, to: string): string {
  const body = JSON.stringify({
    from: `Test <hello@${domain}>`,
    to,
    subject: 'It works',
    html: '<h1>Hello</h1><p>This mail took the whole path.</p>',
  })
  return [
    `curl -sS '${globalThis.location.origin}/api/v1/send-email/instant'`,
    '-H "Authorization: Bearer $MAILSTEAD_KEY"',
    "-H 'Content-Type: application/json'",
    `-d '${body}'`,
  ].join(' \\\n  ')
}
