/**
 * The editor of a template: source on the left, picture on the right. Nothing is stored before Save; leaving the page
 * with changes asks first. A version that somebody else saved meanwhile is named, and stays in the history.
 */
import { useBlocker, useNavigate } from '@tanstack/react-router'
import { Ellipsis, Save, Send } from '#dashboard/src/ui/icons.tsx'
import { useMemo, useState, type ReactNode } from 'react'
import { saveTemplate, type TemplateAnswer } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { formErrors } from '#dashboard/src/shared/form-errors.ts'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Badge } from '#dashboard/src/ui/badge.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { useHotkeys } from '#dashboard/src/ui/use-hotkeys.ts'
import { draftOf, isSameDraft, kindOf, newDraft, readSampleData, saveBody, type TemplateKind } from './draft.ts'
import { TemplateMenu } from './template-menu.tsx'
import { TemplateSource } from './template-source.tsx'
import { TemplatePreview } from './template-preview.tsx'
import { TemplateFindings } from './template-findings.tsx'
import { TestSendDialog } from './test-send-dialog.tsx'
import { usePreview } from './use-preview.ts'

interface TemplateEditorProps {
  /** Null: a new one of this kind. */
  readonly template: TemplateAnswer['data'] | null
  readonly kind?: TemplateKind
  readonly breadcrumbs: readonly { label: string; href: string }[]
  readonly tabs?: ReactNode
}

function useTemplateForm({ template, kind = 'html' }: TemplateEditorProps) {
  const { templates } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const toast = useToast()
  const [start, setStart] = useState(() => (template === null ? newDraft(kind) : draftOf(template)))
  const [draft, setDraft] = useState(start)
  const [baseVersion, setBaseVersion] = useState(template?.version ?? 0)
  const isDirty = !isSameDraft(draft, start)
  const save = useAction(saveTemplate, {
    invalidates: ['/templates'],
    onError: () => undefined,
    onSuccess: ({ data }, { body }) => {
      const saved = { ...draft, id: data.id }
      setStart(saved)
      setDraft((current) => (body.body === saveBody(current).body ? saved : { ...current, id: data.id }))
      setBaseVersion(data.version)
      toast({ tone: 'success', title: templates.saved(data.version), text: data.warnings.join(' ') || undefined })
      if (draft.id === null) void navigate({ to: path(`/templates/${data.id}`), replace: true, ignoreBlocker: true })
    },
  })
  const isOutdated = template !== null && template.version > baseVersion && !save.isPending
  const reload = (): void => {
    if (template === null) return
    setStart(draftOf(template))
    setDraft(draftOf(template))
    setBaseVersion(template.version)
  }
  return { draft, setDraft, isDirty, save, isOutdated, reload }
}

export function TemplateEditor(props: TemplateEditorProps): ReactNode {
  const { template, breadcrumbs, tabs } = props
  const { templates } = useTexts()
  const can = useCan()
  const [search, changeSearch] = useAddressSearch()
  const form = useTemplateForm(props)
  const { draft, setDraft, isDirty, save, isOutdated, reload } = form
  const [contactId, setContactId] = useState<string | null>(null)
  const state = usePreview(draft, contactId)
  const mayWrite = can('templates:write')
  const isSampleValid = readSampleData(draft.sampleData).isValid
  const submit = (): void => {
    if (mayWrite && isSampleValid && !save.isPending) save.mutate({ body: saveBody(draft) })
  }
  useHotkeys({
    'mod+s': (event) => {
      event.preventDefault()
      submit()
    },
  })
  const errors = useMemo(
    () => formErrors(save.error, ['name', 'subject', 'category', 'description', 'sample_data', 'text']),
    [save.error],
  )
  const isBroken = template !== null && template.document !== null && draft.document === null && !isDirty
  return (
    <>
      <PageHeader
        title={draft.name === '' ? templates.create : draft.name}
        status={
          <>
            <Badge>
              {templates.kinds[kindOf({ format: draft.format, document: draft.document === null ? null : {} })]}
            </Badge>
            {isDirty && <Badge tone="warning">{templates.unsaved}</Badge>}
          </>
        }
        breadcrumbs={breadcrumbs}
        tabs={tabs}
        actions={<EditorActions {...props} form={form} isSampleValid={isSampleValid} onSubmit={submit} />}
      />
      <div className="flex flex-col gap-3 empty:hidden">
        {isBroken && <Callout tone="warning">{templates.documentUnreadable}</Callout>}
        {isOutdated && (
          <Callout
            tone="warning"
            action={
              <Button size="sm" onClick={reload}>
                {templates.showLatest}
              </Button>
            }
          >
            {templates.changedMeanwhile}
          </Callout>
        )}
        {errors.rest !== null && (
          <Callout tone="danger" title={templates.notSaved}>
            {errors.rest}
          </Callout>
        )}
      </div>
      <div className="mt-3 grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)] xl:grid-cols-[minmax(0,11fr)_minmax(0,9fr)]">
        <TemplateSource
          draft={draft}
          onChange={setDraft}
          errors={errors}
          problems={state.problems}
          contactId={contactId}
          onContactChange={setContactId}
          isReadOnly={!mayWrite}
        />
        <div className="flex min-w-0 flex-col gap-4 lg:sticky lg:top-4">
          <TemplatePreview state={state} />
          <TemplateFindings check={state.check} />
        </div>
      </div>
      {draft.id !== null && (
        <TestSendDialog
          templateId={draft.id}
          contactId={contactId}
          isOpen={search['test'] !== undefined}
          onClose={() => changeSearch({ test: undefined })}
        />
      )}
      <LeaveDialog isDirty={isDirty && mayWrite} />
    </>
  )
}

interface EditorActionsProps extends TemplateEditorProps {
  readonly form: ReturnType<typeof useTemplateForm>
  readonly isSampleValid: boolean
  readonly onSubmit: () => void
}

function EditorActions({ template, form, isSampleValid, onSubmit }: EditorActionsProps): ReactNode {
  const { templates } = useTexts()
  const can = useCan()
  const [, changeSearch] = useAddressSearch()
  const { draft, isDirty, save } = form
  const isSaved = draft.id !== null && !isDirty
  return (
    <>
      {can('mail:send') && (
        <Button
          icon={Send}
          disabled={!isSaved}
          title={isSaved ? undefined : templates.saveFirst}
          onClick={() => changeSearch({ test: '1' })}
        >
          {templates.test}
        </Button>
      )}
      {can('templates:write') && (
        <Button
          variant="primary"
          icon={Save}
          isLoading={save.isPending}
          disabled={!isSampleValid || isSaved}
          onClick={onSubmit}
        >
          {draft.id === null ? templates.saveNew : templates.save}
        </Button>
      )}
      {template !== null && <TemplateMenu template={template} icon={Ellipsis} />}
    </>
  )
}

/** Asks before changes are lost: in the app by a dialog, else by the browser. */
function LeaveDialog({ isDirty }: { readonly isDirty: boolean }): ReactNode {
  const { templates } = useTexts()
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: isDirty,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      isOpen={blocker.status === 'blocked'}
      onOpenChange={(isOpen) => {
        if (!isOpen) blocker.reset?.()
      }}
      title={templates.leave}
      text={templates.leaveText}
      confirmLabel={templates.leaveConfirm}
      onConfirm={() => blocker.proceed?.()}
      isDanger
    />
  )
}
