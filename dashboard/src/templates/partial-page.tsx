/** One partial, or a new one: its source and the templates that use it. */
import { useNavigate, useParams } from '@tanstack/react-router'
import { Save, Trash2 } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { deletePartial, getPartial, savePartial, type PartialAnswer } from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { formErrors } from '#dashboard/src/shared/form-errors.ts'
import { useWorkspacePath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Callout } from '#dashboard/src/ui/callout.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { IconButton } from '#dashboard/src/ui/icon-button.tsx'
import { LinkText } from '#dashboard/src/ui/link-text.tsx'
import { PageHeader } from '#dashboard/src/ui/page-header.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import type { CodeProblem } from './code-editor.tsx'
import { LazyCodeEditor } from './lazy-code-editor.tsx'
import { NEW_PARTIAL } from './partials-page.tsx'

export function PartialPage(): ReactNode {
  const { templates } = useTexts()
  const path = useWorkspacePath()
  const { name = '' }: { readonly name?: string } = useParams({ strict: false })
  const isNew = name === NEW_PARTIAL
  const query = useApi(getPartial, { params: { name } }, { isEnabled: !isNew })
  const breadcrumbs = [
    { label: templates.title, href: path('/templates') },
    { label: templates.partials, href: path('/templates/partials') },
  ]
  if (isNew || query.data !== undefined)
    return <PartialEditor key={name} partial={query.data?.data ?? null} breadcrumbs={breadcrumbs} />
  return (
    <>
      <PageHeader title={name} breadcrumbs={breadcrumbs} />
      {query.error === null ? (
        <Skeleton className="h-96 w-full" />
      ) : (
        <FailedQuery query={query} title={templates.partialNotLoaded} />
      )}
    </>
  )
}

interface PartialEditorProps {
  readonly partial: PartialAnswer['data'] | null
  readonly breadcrumbs: readonly { label: string; href: string }[]
}

function PartialEditor({ partial, breadcrumbs }: PartialEditorProps): ReactNode {
  const { templates } = useTexts()
  const can = useCan()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const toast = useToast()
  const [name, setName] = useState(partial?.name ?? '')
  const [body, setBody] = useState(partial?.body ?? '<p>\n  \n</p>\n')
  const save = useAction(savePartial, {
    invalidates: ['/templates'],
    onError: () => undefined,
    onSuccess: ({ data }) => {
      toast({ tone: 'success', title: templates.saved(data.version) })
      if (partial === null) void navigate({ to: path(`/templates/partials/${encodeURIComponent(data.name)}`) })
    },
  })
  const errors = formErrors(save.error, ['name', 'body'])
  const isDirty = partial === null || partial.body !== body
  const mayWrite = can('templates:write')
  return (
    <>
      <PageHeader
        title={partial?.name ?? templates.createPartial}
        description={partial === null ? templates.partialHint : `{{> ${partial.name}}}`}
        breadcrumbs={breadcrumbs}
        actions={
          mayWrite && (
            <>
              {partial !== null && <DeletePartial name={partial.name} />}
              <Button
                variant="primary"
                icon={Save}
                disabled={!isDirty}
                isLoading={save.isPending}
                onClick={() => save.mutate({ body: { name, body } })}
              >
                {templates.savePartial}
              </Button>
            </>
          )
        }
      />
      <div className="flex max-w-4xl flex-col gap-4">
        {errors.rest !== null && (
          <Callout tone="danger" title={templates.notSaved}>
            {errors.rest}
          </Callout>
        )}
        {partial === null && (
          <Field label={templates.name} hint={templates.partialNameHint} error={errors.of('name')} isRequired>
            <TextInput isMono value={name} onChange={setName} autoComplete="off" />
          </Field>
        )}
        <LazyCodeEditor
          heightClass="h-96"
          label={templates.partialSource}
          language="html"
          value={body}
          onChange={setBody}
          isReadOnly={!mayWrite}
          problems={problemsOf(save.error)}
        />
        {partial !== null && <Users partial={partial} />}
      </div>
    </>
  )
}

const NO_PROBLEMS: readonly CodeProblem[] = []

function problemsOf(error: ApiError | null): readonly CodeProblem[] {
  const [, line] = /\bline (\d+)/.exec(error?.serverMessage ?? '') ?? []
  return line === undefined ? NO_PROBLEMS : [{ line: Number(line), severity: 'error', message: error?.message ?? '' }]
}

function Users({ partial }: { readonly partial: PartialAnswer['data'] }): ReactNode {
  const { templates } = useTexts()
  const path = useWorkspacePath()
  return (
    <section>
      <h2 className="font-semibold text-ink">{templates.usedBy}</h2>
      {partial.templates.length === 0 && <p className="mt-1 text-muted">{templates.partialUnused}</p>}
      <ul className="mt-1 flex flex-col gap-1">
        {partial.templates.map(({ id, name }) => (
          <li key={id}>
            <LinkText href={path(`/templates/${id}`)}>{name}</LinkText>
          </li>
        ))}
      </ul>
    </section>
  )
}

function DeletePartial({ name }: { readonly name: string }): ReactNode {
  const { templates } = useTexts()
  const path = useWorkspacePath()
  const navigate = useNavigate()
  const toast = useToast()
  const [isOpen, setOpen] = useState(false)
  const remove = useAction(deletePartial, {
    invalidates: ['/templates'],
    onError: () => undefined,
    onSuccess: () => {
      toast({ tone: 'success', title: templates.deleted(name) })
      void navigate({ to: path('/templates/partials') })
    },
  })
  return (
    <>
      <IconButton icon={Trash2} label={templates.delete} onClick={() => setOpen(true)} />
      <ConfirmDialog
        isOpen={isOpen}
        onOpenChange={setOpen}
        title={templates.deleteTitle(name)}
        text={templates.deletePartialText}
        confirmLabel={templates.delete}
        onConfirm={() => remove.mutate({ params: { name } })}
        isLoading={remove.isPending}
        error={remove.error?.message}
        isDanger
      />
    </>
  )
}
