/** Step 4: what the API finds, what it costs, who would get it, a test, and the start. */
import { RefreshCw } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import { previewCampaign, type PreviewCampaignAnswer } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { BarList } from '#dashboard/src/ui/bar-list.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { formatNumber } from '#dashboard/src/ui/format.ts'
import { KeyValueList } from '#dashboard/src/ui/key-value-list.tsx'
import { NumberText, Percent } from '#dashboard/src/ui/numbers.tsx'
import { Section } from '#dashboard/src/ui/section.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import { MailPreview } from './mail-preview.tsx'
import { SampleRecipients } from './sample-recipients.tsx'
import type { SendPlan } from './send-plan.ts'
import { StartButton } from './start-button.tsx'
import { TestSend } from './test-send.tsx'
import type { Draft } from './use-draft.ts'
import { useCountText } from './recipient-count.tsx'

export type Preview = PreviewCampaignAnswer['data']

export function CheckStep({ draft, plan }: { readonly draft: Draft; readonly plan: SendPlan }): ReactNode {
  const { campaigns } = useTexts()
  const [contactId, setContactId] = useState<string | null>(null)
  const query = useApi(previewCampaign, { params: { id: draft.id } }, { isEnabled: draft.state !== 'saving' })
  return (
    <div className="grid items-start gap-6 xl:grid-cols-2">
      <div className="flex flex-col gap-6">
        <Section
          title={campaigns.findings}
          actions={
            <Button size="sm" icon={RefreshCw} isLoading={query.isFetching} onClick={() => void query.refetch()}>
              {campaigns.checkAgain}
            </Button>
          }
        >
          {query.error !== null && <FailedQuery query={query} title={campaigns.findingsNotLoaded} />}
          {query.error === null && query.data === undefined && <Skeleton className="h-48 w-full" />}
          {query.data !== undefined && <Findings preview={query.data.data} />}
        </Section>
        {query.data !== undefined && <Reach preview={query.data.data} />}
        {query.data !== undefined && <StartButton draft={draft} plan={plan} preview={query.data.data} />}
      </div>
      <div className="flex flex-col gap-6">
        <SampleRecipients fields={draft.fields} chosenId={contactId} onChoose={setContactId} />
        <Section title={campaigns.preview} actions={<TestSend fields={draft.fields} contactId={contactId} />}>
          <MailPreview fields={draft.fields} contactId={contactId} />
        </Section>
      </div>
    </div>
  )
}

const LEVEL_TONES = { green: 'success', yellow: 'warning', red: 'danger' } as const

function Findings({ preview }: { readonly preview: Preview }): ReactNode {
  const { campaigns } = useTexts()
  const say = useServerText()
  return (
    <Card padding="none">
      <ul className="divide-y divide-line">
        {preview.findings.map(({ code, level, message, translation }) => (
          <li
            key={code + message}
            className="flex flex-col items-start gap-1.5 px-4 py-3 sm:flex-row sm:items-baseline sm:gap-3"
          >
            <Badge tone={LEVEL_TONES[level]}>{campaigns.levels[level]}</Badge>
            <span className="min-w-0 flex-1 break-words">{say(message, translation)}</span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function Reach({ preview }: { readonly preview: Preview }): ReactNode {
  const { campaigns, ui } = useTexts()
  const countText = useCountText()
  const { quota_room: room, expected_finish_at: finish } = preview
  return (
    <Section title={campaigns.cost}>
      <Card>
        <KeyValueList
          items={[
            { label: campaigns.recipients, value: countText(preview) },
            {
              label: campaigns.quotaLeft,
              value: room === null ? campaigns.unlimited : <NumberText value={room} isExact />,
            },
            { label: campaigns.receiverCount, value: <NumberText value={preview.receiver_count} isExact /> },
            { label: campaigns.neverMailed, value: <Percent share={preview.never_mailed_share} /> },
            { label: campaigns.finish, value: finish === null ? campaigns.finishUnknown : <DateTime value={finish} /> },
          ]}
        />
        {preview.receivers.length > 0 && (
          <div className="mt-4">
            <BarList
              label={campaigns.largestReceivers}
              headings={[campaigns.largestReceivers, campaigns.recipients]}
              items={preview.receivers.slice(0, 8).map(({ receiver, recipients, warm_up_room: warmUp }) => ({
                key: receiver,
                value: recipients,
                text: formatNumber(recipients, ui.locale),
                label:
                  warmUp === null ? receiver : `${receiver} (${campaigns.warmUpRoom(formatNumber(warmUp, ui.locale))})`,
                tone: warmUp !== null && warmUp < recipients ? 'warning' : 'accent',
              }))}
            />
          </div>
        )}
      </Card>
    </Section>
  )
}
