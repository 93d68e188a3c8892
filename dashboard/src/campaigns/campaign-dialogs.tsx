/** Asks before a campaign is cancelled, sent again to some, or followed up. */
import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { cancelCampaign, resendCampaign, retryCampaign } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import type { CampaignDialogProps } from './campaign-actions.tsx'
import { retryableOf } from './campaign-state.ts'
import { useCountText } from './recipient-count.tsx'

const CHANGED = ['/public/campaigns', '/public/statistics']

export function CancelDialog({ campaign, isOpen, onClose }: CampaignDialogProps): ReactNode {
  const { campaigns } = useTexts()
  const countText = useCountText()
  const cancel = useAction(cancelCampaign, { invalidates: CHANGED, onSuccess: onClose })
  // before the start nobody was counted
  const left = countText({ recipients: campaign.metrics.waiting, is_estimate: false })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={campaigns.cancelTitle}
      text={campaign.started_at === null ? campaigns.cancelScheduledText : campaigns.cancelText(left)}
      confirmLabel={campaigns.cancel}
      isDanger
      isLoading={cancel.isPending}
      error={cancel.error?.message}
      onConfirm={() => cancel.mutate({ params: { id: campaign.id } })}
    />
  )
}

export function RetryDialog({ campaign, isOpen, onClose }: CampaignDialogProps): ReactNode {
  const { campaigns } = useTexts()
  const countText = useCountText()
  const retry = useAction(retryCampaign, { invalidates: CHANGED, onSuccess: onClose })
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={campaigns.retryTitle(countText({ recipients: retryableOf(campaign.metrics), is_estimate: false }))}
      text={campaigns.retryText}
      confirmLabel={campaigns.retry}
      isLoading={retry.isPending}
      error={retry.error?.message}
      onConfirm={() => retry.mutate({ params: { id: campaign.id } })}
    />
  )
}

export function FollowUpDialog({ campaign, isOpen, onClose }: CampaignDialogProps): ReactNode {
  const { campaigns, ui } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const [subject, setSubject] = useState(campaign.subject ?? '')
  const [error, setError] = useState<ApiError | null>(null)
  const resend = useAction(resendCampaign, {
    invalidates: CHANGED,
    onSuccess: ({ data }) => {
      onClose()
      void navigate({ to: path(`/campaigns/${data.id}/edit/what`) })
    },
    onError: setError,
  })
  useFocusOnError(error)
  const errors = formErrors(error, ['subject'])
  const submit = (): void => {
    setError(null)
    const body = subject.trim() === '' ? {} : { subject: subject.trim() }
    resend.mutate({ params: { id: campaign.id }, body })
  }
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={campaigns.followUp}
      description={campaigns.followUpText}
      size="sm"
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.cancel}</Button>
          <Button type="submit" variant="primary" isLoading={resend.isPending}>
            {campaigns.followUpCreate}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Field label={campaigns.followUpSubject} error={errors.of('subject')}>
          <TextInput value={subject} onChange={setSubject} />
        </Field>
      </div>
    </Dialog>
  )
}
