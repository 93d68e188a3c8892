/** Walks a contact through the saved steps, without any effect, and lists what would happen when. */
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { dryRunAutomation, type DryRunAutomationAnswer } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { formErrors, useFocusOnError } from '#dashboard/src/shared/form-errors.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { Dialog } from '#dashboard/src/ui/dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TagInput } from '#dashboard/src/ui/tag-input.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { DateTime } from '#dashboard/src/ui/times.tsx'
import type { Automation } from './automation-status.tsx'

interface DryRunDialogProps {
  readonly automation: Automation
  readonly isUnsaved: boolean
  readonly isOpen: boolean
  readonly onClose: () => void
}

export function DryRunDialog({ automation, isUnsaved, isOpen, onClose }: DryRunDialogProps): ReactNode {
  const { automations, ui } = useTexts()
  const [email, setEmail] = useState('')
  const [isOpened, setOpened] = useState(false)
  const [isClicked, setClicked] = useState(false)
  const [events, setEvents] = useState<readonly string[]>([])
  const [error, setError] = useState<ApiError | null>(null)
  const run = useAction(dryRunAutomation, { onSuccess: () => setError(null), onError: setError })
  useFocusOnError(error)
  const errors = formErrors(error, ['email'])
  const submit = (): void =>
    run.mutate({
      params: { id: automation.id },
      body: { email: email.trim(), opened: isOpened, clicked: isClicked, events },
    })
  return (
    <Dialog
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      title={automations.dryRun}
      description={automations.dryRunText}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>{ui.close}</Button>
          <Button type="submit" variant="primary" isLoading={run.isPending}>
            {automations.dryRunStart}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        {isUnsaved && <Callout tone="warning">{automations.dryRunUnsaved}</Callout>}
        {errors.rest !== null && <Callout tone="danger">{errors.rest}</Callout>}
        <Field label={automations.dryRunEmail} error={errors.of('email')} isRequired>
          <TextInput type="email" value={email} onChange={setEmail} autoFocus />
        </Field>
        <Checkbox label={automations.dryRunOpened} isChecked={isOpened} onChange={setOpened} />
        <Checkbox label={automations.dryRunClicked} isChecked={isClicked} onChange={setClicked} />
        <Field label={automations.dryRunEvents} isOptional>
          <TagInput value={events} onChange={setEvents} />
        </Field>
        {run.data !== undefined && error === null && <DryRunResult result={run.data.data} />}
      </div>
    </Dialog>
  )
}

function DryRunResult({ result }: { readonly result: DryRunAutomationAnswer['data'] }): ReactNode {
  const { automations } = useTexts()
  const say = useServerText()
  return (
    <ol aria-live="polite" className="divide-y divide-line rounded-lg border border-line">
      {result.steps.map(({ id, type, at, answer, obstacle, obstacle_translation: ofObstacle }) => (
        <li key={id} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 px-3 py-2">
          <span className="font-medium">{automations.types[type]}</span>
          {answer !== null && <Badge>{answer ? automations.answered.yes : automations.answered.no}</Badge>}
          <span className="ml-auto text-sm text-muted">
            <DateTime value={at} />
          </span>
          {obstacle !== null && (
            <span className="basis-full text-sm text-warning-text">{say(obstacle, ofObstacle)}</span>
          )}
        </li>
      ))}
      <li className="flex flex-wrap items-baseline gap-x-3 px-3 py-2">
        <span className="font-medium">{automations.dryRunEnds[result.ends]}</span>
        {result.reason !== null && (
          <span className="text-sm text-muted">{say(result.reason, result.reason_translation)}</span>
        )}
        <span className="ml-auto text-sm text-muted">
          <DateTime value={result.ends_at} />
        </span>
      </li>
    </ol>
  )
}
