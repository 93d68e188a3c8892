/** The flow with the properties of the selected step beside it, as a drawing or as a list. */
import { lazy, Suspense, useMemo, useState, type ReactNode } from 'react'
import { getAudiences, getAutomationSubscriber, listTemplates } from '#dashboard/src/api/endpoints.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { useServerText } from '#dashboard/src/texts/use-server-text.ts'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Checkbox } from '#dashboard/src/ui/checkbox.tsx'
import { SegmentedControl } from '#dashboard/src/ui/segmented-control.tsx'
import { Sheet } from '#dashboard/src/ui/sheet.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { useMediaQuery } from '#dashboard/src/ui/use-media-query.ts'
import type { Automation } from './automation-status.tsx'
import { insertStep, newStep } from './flow-document.ts'
import { countsOf, FlowEditorContext, nameOfStep, type FlowEditor } from './flow-editor.ts'
import { FlowOutline } from './flow-outline.tsx'
import { StepPanel } from './step-panel.tsx'
import type { Names } from './step-summary.ts'
import type { Flow } from './use-flow.ts'

const FlowCanvas = lazy(async () => ({ default: (await import('./flow-canvas.tsx')).FlowCanvas }))
const VIEWS = ['canvas', 'list'] as const

interface FlowViewProps {
  readonly automation: Automation
  readonly flow: Flow
}

export function FlowView({ automation, flow }: FlowViewProps): ReactNode {
  const { automations } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const isWide = useMediaQuery('(min-width: 64rem)')
  const editor = useEditor(automation, flow)
  const view = VIEWS.find((one) => one === search['view']) ?? (isWide ? 'canvas' : 'list')
  const { selectedId, select } = editor
  return (
    <FlowEditorContext value={editor}>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
        <SegmentedControl
          label={automations.view}
          value={view}
          onChange={(value) => changeSearch({ view: value })}
          segments={VIEWS.map((value) => ({ value, label: automations.views[value] }))}
        />
        {flow.isChanged && <SaveBar automation={automation} flow={flow} />}
      </div>
      <Messages flow={flow} automation={automation} contactId={search['contact']} />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        {view === 'list' ? (
          <FlowOutline />
        ) : (
          <Suspense fallback={<Skeleton className="h-[70vh] w-full" />}>
            <FlowCanvas />
          </Suspense>
        )}
        {isWide && (
          <Card className="max-h-[70vh] overflow-y-auto">
            <h2 className="mb-4 font-semibold">
              {selectedId === null ? automations.properties : nameOfStep(editor, selectedId, automations)}
            </h2>
            <StepPanel />
          </Card>
        )}
      </div>
      {!isWide && (
        <Sheet
          isOpen={selectedId !== null}
          onOpenChange={(open) => !open && select(null)}
          title={selectedId === null ? automations.properties : nameOfStep(editor, selectedId, automations)}
        >
          <StepPanel />
        </Sheet>
      )}
    </FlowEditorContext>
  )
}

function useEditor(automation: Automation, flow: Flow): FlowEditor {
  const { automations: texts } = useTexts()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const audiences = useApi(getAudiences, { query: { limit: 100 } }).data?.data.audiences
  const templates = useApi(listTemplates, { query: { limit: 100 } }).data?.data.templates
  const names = useMemo<Names>(
    () => ({
      texts,
      audiences: new Map((audiences ?? []).map(({ id, name }) => [id, name])),
      templates: new Map((templates ?? []).map(({ id, name }) => [id, name])),
    }),
    [texts, audiences, templates],
  )
  const contactId = search['contact'] ?? ''
  const subscriber = useApi(
    getAutomationSubscriber,
    { params: { id: automation.id, subscriberId: contactId } },
    { isEnabled: contactId !== '' },
  ).data?.data
  const passed = useMemo(
    () => (subscriber === undefined ? null : new Set(['trigger', ...subscriber.passed.map(({ step }) => step)])),
    [subscriber],
  )
  return {
    flow,
    names,
    counts: countsOf(automation),
    selectedId: search['step'] ?? null,
    passed,
    mayChange: can('automations:write') && automation.status !== 'archived',
    select: (id) => changeSearch({ step: id ?? undefined }),
    add: (point, type) => {
      const step = newStep(type)
      flow.change({ steps: insertStep(flow.steps, point, step) })
      changeSearch({ step: step.id })
    },
  }
}

function SaveBar({ automation, flow }: FlowViewProps): ReactNode {
  const { automations } = useTexts()
  const [movesEnrolled, setMovesEnrolled] = useState(false)
  return (
    <div className="flex flex-wrap items-center gap-3">
      {automation.active_count > 0 && (
        <Checkbox
          label={automations.moveEnrolled}
          hint={automations.moveEnrolledHint}
          isChecked={movesEnrolled}
          onChange={setMovesEnrolled}
        />
      )}
      <span role="status" className="text-sm text-muted">
        {automations.unsaved}
      </span>
      <Button onClick={() => flow.discard()}>{automations.discard}</Button>
      <Button variant="primary" isLoading={flow.isSaving} onClick={() => flow.save({ movesEnrolled })}>
        {automations.save}
      </Button>
    </div>
  )
}

interface MessagesProps extends FlowViewProps {
  readonly contactId: string | undefined
}

function Messages({ automation, flow, contactId }: MessagesProps): ReactNode {
  const { automations } = useTexts()
  const say = useServerText()
  const [, changeSearch] = useAddressSearch()
  const whole = flow.problems.get('') ?? []
  const subscriber = useApi(
    getAutomationSubscriber,
    { params: { id: automation.id, subscriberId: contactId ?? '' } },
    { isEnabled: contactId !== undefined },
  ).data?.data
  return (
    <div className="mb-3 flex flex-col gap-3 empty:hidden">
      {flow.error !== null && (
        <Callout tone="danger" title={automations.notSaved}>
          {flow.error.message}
        </Callout>
      )}
      {flow.isChanged && whole.length > 0 && <Callout tone="warning">{whole.join(' ')}</Callout>}
      {subscriber !== undefined && (
        <Callout
          title={automations.pathOf(subscriber.email)}
          action={
            <Button size="sm" onClick={() => changeSearch({ contact: undefined })}>
              {automations.hidePath}
            </Button>
          }
        >
          {automations.subscriberStatus[subscriber.status]}.{' '}
          {subscriber.reason === null ? automations.pathText : say(subscriber.reason, subscriber.reason_translation)}
        </Callout>
      )}
    </div>
  )
}
