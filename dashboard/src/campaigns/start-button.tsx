/** Starts or schedules a draft, after naming the number of recipients. */
import { useNavigate } from '@tanstack/react-router'
import { CalendarClock, Send } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { scheduleCampaign, startCampaign } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import type { Preview } from './check-step.tsx'
import { useCountText } from './recipient-count.tsx'
import { problemOf, toScheduleBody, type SendPlan } from './send-plan.ts'
import type { Draft } from './use-draft.ts'

interface StartButtonProps {
  readonly draft: Draft
  readonly plan: SendPlan
  readonly preview: Preview
}

export function StartButton({ draft, plan, preview }: StartButtonProps): ReactNode {
  const { campaigns } = useTexts()
  const can = useCan()
  const [isAsking, setAsking] = useState(false)
  const { isLater } = plan
  const isForced = preview.is_red
  const isBlocked = preview.findings.some(({ level, may_force: mayForce }) => level === 'red' && !mayForce)
  const problem = problemOf(plan, Date.now())
  if (!can('campaigns:send')) return <Callout>{campaigns.mayNotStart}</Callout>
  const reason = isBlocked
    ? campaigns.blocked
    : problem === null
      ? null
      : problem === 'no-time'
        ? campaigns.noTime
        : campaigns.pastTime
  const label = isForced
    ? isLater
      ? campaigns.scheduleAnyway
      : campaigns.startAnyway
    : isLater
      ? campaigns.schedule
      : campaigns.start
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button
        variant="primary"
        icon={isLater ? CalendarClock : Send}
        disabled={reason !== null || draft.state !== 'saved' || preview.recipients === 0}
        onClick={() => setAsking(true)}
      >
        {label}
      </Button>
      {reason !== null && <span className="text-sm text-danger-text">{reason}</span>}
      {reason === null && isForced && <span className="text-sm text-warning-text">{campaigns.forceText}</span>}
      {reason === null && preview.recipients === 0 && <span className="text-sm text-muted">{campaigns.noSample}</span>}
      <StartDialog
        draft={draft}
        plan={plan}
        preview={preview}
        label={label}
        isOpen={isAsking}
        onOpenChange={setAsking}
      />
    </div>
  )
}

interface StartDialogProps extends StartButtonProps {
  readonly label: string
  readonly isOpen: boolean
  readonly onOpenChange: (isOpen: boolean) => void
}

function StartDialog({ draft, plan, preview, label, isOpen, onOpenChange }: StartDialogProps): ReactNode {
  const { campaigns } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const toast = useToast()
  const countText = useCountText()
  const [error, setError] = useState<ApiError | null>(null)
  const options = (title: string): Parameters<typeof useAction>[1] => ({
    invalidates: ['/public/campaigns'],
    onSuccess: () => {
      toast({ title, tone: 'success' })
      void navigate({ to: path(`/campaigns/${draft.id}`) })
    },
    onError: setError,
  })
  const start = useAction(startCampaign, options(campaigns.started) as object)
  const schedule = useAction(scheduleCampaign, options(campaigns.scheduled) as object)
  const params = { id: draft.id }
  const count = countText(preview)
  const at = plan.at.replace('T', ' ')
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      title={plan.isLater ? campaigns.scheduleTitle(count) : campaigns.startTitle(count)}
      text={
        plan.isLater
          ? plan.isEachZone
            ? campaigns.scheduleEach(at)
            : campaigns.scheduleText(at, plan.zone)
          : campaigns.startText(draft.fields.subject ?? draft.fields.name, draft.fields.from ?? '')
      }
      confirmLabel={label}
      isLoading={start.isPending || schedule.isPending}
      error={error?.message}
      onConfirm={() => {
        setError(null)
        if (plan.isLater) schedule.mutate({ params, body: toScheduleBody(plan, preview.is_red) })
        else start.mutate({ params, body: preview.is_red ? { force: true } : {} })
      }}
    />
  )
}
