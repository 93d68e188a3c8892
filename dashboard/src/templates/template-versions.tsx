/** Every version that was saved, what changed between two of them, and the way back to one. */
import { RotateCcw } from '#dashboard/src/ui/icons.tsx'
import { useState, type ReactNode } from 'react'
import {
  getTemplateVersion,
  listTemplateVersions,
  saveTemplate,
  type TemplateAnswer,
} from '#dashboard/src/api/endpoints.ts'
import { useAction, useApi, useApiList } from '#dashboard/src/api/queries.ts'
import { useCan } from '#dashboard/src/session/session.tsx'
import { FailedQuery } from '#dashboard/src/shared/failed-query.tsx'
import { useAddressSearch } from '#dashboard/src/shared/address-search.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { ConfirmDialog } from '#dashboard/src/ui/confirm-dialog.tsx'
import { DiffView } from '#dashboard/src/ui/diff-view.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { Select } from '#dashboard/src/ui/select.tsx'
import { Skeleton } from '#dashboard/src/ui/skeleton.tsx'
import { RelativeTime } from '#dashboard/src/ui/times.tsx'
import { useToast } from '#dashboard/src/ui/toast.tsx'
import { draftOf, saveBody } from './draft.ts'
import { changedParts } from './version-parts.ts'

const PAGE_SIZE = 100

export function TemplateVersions({ template }: { readonly template: TemplateAnswer['data'] }): ReactNode {
  const { templates } = useTexts()
  const [search, changeSearch] = useAddressSearch()
  const list = useApiList(
    listTemplateVersions,
    { params: { id: template.id }, query: { limit: PAGE_SIZE } },
    { items: (answer) => answer.data.versions, nextCursor: (answer) => answer.data.next_cursor },
  )
  if (list.query.error !== null) return <FailedQuery query={list.query} title={templates.versionsNotLoaded} />
  if (list.query.isPending) return <Skeleton className="h-96 w-full" />
  const numbers = list.items.map(({ version }) => version)
  const read = (name: string, otherwise: number): number => {
    const wanted = Number(search[name])
    return numbers.includes(wanted) ? wanted : otherwise
  }
  const to = read('to', template.version)
  const from = read('from', Math.max(1, to - 1))
  const options = list.items.map((one) => ({ value: String(one.version), label: templates.versionNumber(one.version) }))
  return (
    <div className="grid items-start gap-6 lg:grid-cols-[18rem_minmax(0,1fr)]">
      <VersionList
        versions={list.items}
        shown={to}
        latest={template.version}
        template={template}
        onShow={(version) => changeSearch({ to: String(version), from: undefined })}
        onMore={list.hasMore ? list.loadMore : undefined}
      />
      <div className="flex min-w-0 flex-col gap-4">
        <div className="grid max-w-md grid-cols-2 gap-4">
          <Field label={templates.compareFrom}>
            <Select value={String(from)} options={options} onChange={(value) => changeSearch({ from: value })} />
          </Field>
          <Field label={templates.compareTo}>
            <Select value={String(to)} options={options} onChange={(value) => changeSearch({ to: value })} />
          </Field>
        </div>
        <Comparison id={template.id} from={from} to={to} />
      </div>
    </div>
  )
}

interface VersionListProps {
  readonly versions: readonly { readonly version: number; readonly created_at: string }[]
  readonly shown: number
  readonly latest: number
  readonly template: TemplateAnswer['data']
  readonly onShow: (version: number) => void
  readonly onMore: (() => void) | undefined
}

function VersionList({ versions, shown, latest, template, onShow, onMore }: VersionListProps): ReactNode {
  const { templates, ui } = useTexts()
  const can = useCan()
  const [restored, setRestored] = useState<number | null>(null)
  return (
    <div className="flex flex-col gap-2">
      <ol className="divide-y divide-line overflow-hidden rounded-lg border border-line bg-surface">
        {versions.map(({ version, created_at: created }) => (
          <li
            key={version}
            className={`flex items-center justify-between gap-2 pr-2 ${version === shown ? 'bg-hover' : ''}`}
          >
            <button
              type="button"
              aria-current={version === shown}
              onClick={() => onShow(version)}
              className="min-w-0 flex-1 px-3 py-2 text-left outline-offset-[-2px]"
            >
              <span className="block font-medium">
                {templates.versionNumber(version)}
                {version === latest && <span className="ml-2 text-sm font-normal text-muted">{templates.current}</span>}
              </span>
              <span className="block text-sm text-muted">
                <RelativeTime value={created} />
              </span>
            </button>
            {version !== latest && can('templates:write') && (
              <Button
                size="sm"
                variant="ghost"
                icon={RotateCcw}
                aria-label={templates.restoreVersion(version)}
                onClick={() => setRestored(version)}
              >
                {templates.restore}
              </Button>
            )}
          </li>
        ))}
      </ol>
      {onMore !== undefined && <Button onClick={onMore}>{ui.loadMore}</Button>}
      <RestoreDialog template={template} version={restored} onClose={() => setRestored(null)} />
    </div>
  )
}

interface RestoreDialogProps {
  readonly template: TemplateAnswer['data']
  readonly version: number | null
  readonly onClose: () => void
}

/** A restored version is saved as the latest one, so nothing is lost. */
function RestoreDialog({ template, version, onClose }: RestoreDialogProps): ReactNode {
  const { templates } = useTexts()
  const toast = useToast()
  const [, changeSearch] = useAddressSearch()
  const found = useApi(
    getTemplateVersion,
    { params: { id: template.id, version: String(version ?? 1) } },
    { isEnabled: version !== null },
  )
  const save = useAction(saveTemplate, {
    invalidates: ['/templates'],
    onError: () => undefined,
    onSuccess: ({ data }) => {
      onClose()
      changeSearch({ from: undefined, to: undefined })
      toast({ tone: 'success', title: templates.saved(data.version) })
    },
  })
  const restore = (): void => {
    const old = found.data?.data
    if (old === undefined) return
    const draft = draftOf({ ...old, description: template.description, category: template.category })
    // exactly what was stored, even if the editor would write it differently
    save.mutate({ body: { ...saveBody(draft), body: old.body, document: old.document } })
  }
  return (
    <ConfirmDialog
      isOpen={version !== null}
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose()
      }}
      title={templates.restoreTitle(version ?? 0)}
      text={templates.restoreText}
      confirmLabel={templates.restore}
      onConfirm={restore}
      isLoading={save.isPending || found.isPending}
      error={save.error?.message ?? found.error?.message}
    />
  )
}

interface ComparisonProps {
  readonly id: string
  readonly from: number
  readonly to: number
}

function Comparison({ id, from, to }: ComparisonProps): ReactNode {
  const { templates } = useTexts()
  const before = useApi(getTemplateVersion, { params: { id, version: String(from) } })
  const after = useApi(getTemplateVersion, { params: { id, version: String(to) } })
  const failed = [before, after].find(({ error }) => error !== null)
  if (failed !== undefined) return <FailedQuery query={failed} title={templates.versionsNotLoaded} />
  if (before.data === undefined || after.data === undefined) return <Skeleton className="h-80 w-full" />
  const parts = changedParts(before.data.data, after.data.data)
  if (parts.length === 0) return <p className="text-muted">{templates.noDifference}</p>
  return parts.map((part) => (
    <section key={part.name} className="flex min-w-0 flex-col gap-2">
      <h2 className="font-semibold text-ink">{templates.parts[part.name]}</h2>
      <DiffView before={part.before} after={part.after} label={templates.parts[part.name]} />
    </section>
  ))
}
