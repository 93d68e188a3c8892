/** What became of a message: what holds it, each recipient, the events in their order, and its facts. */
import type { ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { isWaiting } from '#dashboard/src/shared/message-status.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { CopyButton } from '#dashboard/src/ui/copy-button.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { MessageExplanation } from './message-explanation.tsx'
import { MessageRecipients } from './message-recipients.tsx'
import { MessageTimeline } from './message-timeline.tsx'
import type { Message } from './message-page.tsx'

export function MessageDelivery({ message }: { readonly message: Message }): ReactNode {
  const { messages } = useTexts()
  return (
    <div className="grid min-w-0 gap-8 xl:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex min-w-0 flex-col gap-8">
        {isWaiting(message.status) ? <MessageExplanation message={message} /> : <Why message={message} />}
        <MessageRecipients message={message} />
        <Section title={messages.timeline}>
          <MessageTimeline message={message} />
        </Section>
      </div>
      <aside className="min-w-0" aria-label={messages.facts}>
        <Card>
          <Facts message={message} />
        </Card>
      </aside>
    </div>
  )
}

const BAD: ReadonlySet<string> = new Set(['bounced', 'failed', 'suppressed'])

/** Of a message that ended without delivery: the reasons, each once. */
function Why({ message }: { readonly message: Message }): ReactNode {
  const { messages } = useTexts()
  const say = useServerText()
  const reasons = new Set(
    message.recipients.flatMap(({ state, reason, reason_translation: translation }) =>
      BAD.has(state) && reason !== null ? [say(reason, translation)] : [],
    ),
  )
  if (reasons.size === 0) return null
  return (
    <Callout tone={message.status === 'suppressed' ? 'warning' : 'danger'} title={messages.whyNotDelivered}>
      <ul className="flex flex-col gap-1">
        {[...reasons].slice(0, 5).map((reason) => (
          <li key={reason} className="break-words">
            {reason}
          </li>
        ))}
      </ul>
    </Callout>
  )
}

function Facts({ message }: { readonly message: Message }): ReactNode {
  const { messages } = useTexts()
  const path = useWorkspacePath()
  const can = useCan()
  const { from_name: name, from, tags, template, campaign_id: campaign, submission, request_id: request } = message
  const items: { label: string; value: ReactNode }[] = [
    { label: messages.from, value: <span className="break-words">{name === null ? from : `${name} <${from}>`}</span> },
    { label: messages.accepted, value: <DateTime value={message.created_at} precision="second" /> },
    ...(message.scheduled_at === null
      ? []
      : [{ label: messages.scheduledFor, value: <DateTime value={message.scheduled_at} /> }]),
    { label: messages.tier, value: messages.tiers[message.priority] },
    { label: messages.messageId, value: <Id text={message.email_id} /> },
    ...(request === null ? [] : [{ label: messages.requestId, value: <Id text={request} /> }]),
    ...(tags.length === 0 ? [] : [{ label: messages.tags, value: <Tags tags={tags} /> }]),
    ...(template === null
      ? []
      : [
          {
            label: messages.template,
            value: (
              <LinkText href={path(`/templates/${template.id}`)}>{messages.templateVersion(template.version)}</LinkText>
            ),
          },
        ]),
    ...(campaign === null || !can('campaigns:read')
      ? []
      : [
          {
            label: messages.campaign,
            value: <LinkText href={path(`/campaigns/${campaign}`)}>{messages.openCampaign}</LinkText>,
          },
        ]),
    ...(submission === null
      ? []
      : [
          {
            label: messages.submitted,
            value: messages.submittedBy(submission.protocol === 'smtp' ? 'SMTP' : 'HTTP', submission.mail_from),
          },
        ]),
    ...(message.metadata === null
      ? []
      : [
          {
            label: messages.metadata,
            value: <code className="text-xs break-all">{JSON.stringify(message.metadata, null, 1)}</code>,
          },
        ]),
  ]
  return (
    <dl className="grid gap-x-6 gap-y-3 md:grid-cols-2 xl:grid-cols-1">
      {items.map(({ label, value }) => (
        <div key={label} className="min-w-0">
          <dt className="text-sm text-muted">{label}</dt>
          <dd className="mt-0.5 min-w-0 text-ink">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function Id({ text }: { readonly text: string }): ReactNode {
  return (
    <span className="flex min-w-0 items-center gap-1">
      <code className="min-w-0 truncate text-xs" title={text}>
        {text}
      </code>
      <CopyButton text={text} />
    </span>
  )
}

function Tags({ tags }: { readonly tags: readonly string[] }): ReactNode {
  const path = useWorkspacePath()
  return (
    <span className="flex flex-wrap gap-1.5">
      {tags.map((tag) => (
        <LinkText key={tag} href={path('/messages', { tag })}>
          <Badge>{tag}</Badge>
        </LinkText>
      ))}
    </span>
  )
}
