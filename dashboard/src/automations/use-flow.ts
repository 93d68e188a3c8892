/**
 * A flow while it is edited. Nothing is saved by itself: new steps make a new version for the contacts, so a person
 * says when. Until then the changes stay here, above what the server has.
 */
import { useCallback, useState } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { updateAutomation, type UpdateAutomationBody } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import type { Automation } from './automation-status.tsx'
import { stepOfPath, type FlowStep } from './flow-document.ts'
import { validateFlow, type FlowTrigger } from './flow-validation.ts'

interface FlowContent {
  readonly trigger: FlowTrigger
  readonly steps: readonly FlowStep[]
}

export interface Flow extends FlowContent {
  readonly isChanged: boolean
  readonly isSaving: boolean
  readonly error: ApiError | null
  /** Messages by the id of a step, or `trigger`; what belongs to no node is under an empty name. */
  readonly problems: ReadonlyMap<string, readonly string[]>
  change(content: Partial<FlowContent>): void
  discard(): void
  save(options?: { readonly movesEnrolled?: boolean; readonly status?: Automation['status'] }): void
}

export function useFlow(automation: Automation): Flow {
  const { automations } = useTexts()
  const toast = useToast()
  const [edited, setEdited] = useState<FlowContent | null>(null)
  const [error, setError] = useState<ApiError | null>(null)
  const saved = contentOf(automation)
  const content = edited ?? saved
  const update = useAction(updateAutomation, {
    invalidates: ['/public/automations'],
    onSuccess: ({ data }) => {
      setEdited(null)
      setError(null)
      toast({
        title:
          data.status === automation.status
            ? automations.saved
            : automations.statusChanged(automations.status[data.status]),
      })
    },
    onError: setError,
  })
  const change = useCallback(
    (changed: Partial<FlowContent>) => {
      setError(null)
      setEdited((old) => ({ ...(old ?? contentOf(automation)), ...changed }))
    },
    [automation],
  )
  return {
    ...content,
    isChanged: edited !== null,
    isSaving: update.isPending,
    error,
    problems: problemsOf(content, error, automations.problems),
    change,
    discard: () => {
      setEdited(null)
      setError(null)
    },
    save: ({ movesEnrolled = false, status } = {}) =>
      update.mutate({
        params: { id: automation.id },
        body: {
          ...(edited === null ? {} : toBody(edited)),
          ...(movesEnrolled ? { enrolled: 'move' as const } : {}),
          ...(status === undefined ? {} : { status }),
        },
      }),
  }
}

function contentOf({ trigger_type: type, trigger_config: config, steps }: Automation): FlowContent {
  return { trigger: { type, config }, steps: steps as unknown as readonly FlowStep[] }
}

function toBody({ trigger, steps }: FlowContent): UpdateAutomationBody {
  return {
    trigger_type: trigger.type,
    trigger_config: trigger.config,
    steps: steps as unknown as NonNullable<UpdateAutomationBody['steps']>,
  }
}

function problemsOf(
  { trigger, steps }: FlowContent,
  error: ApiError | null,
  texts: ReturnType<typeof useTexts>['automations']['problems'],
): ReadonlyMap<string, readonly string[]> {
  const problems = new Map<string, string[]>()
  const add = (at: string | null, text: string): void => {
    const known = problems.get(at ?? '') ?? []
    if (!known.includes(text)) problems.set(at ?? '', [...known, text])
  }
  for (const { at, code } of validateFlow(trigger, steps)) add(at, texts[code])
  for (const { path, message } of error?.details ?? []) {
    const at = stepOfPath(steps, path)
    add(at, at === null ? `${path} ${message}` : `${path.split('.').at(-1) ?? ''}: ${message}`)
  }
  if (error !== null && error.details.length === 0) add(null, error.message)
  return problems
}
