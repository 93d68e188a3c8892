/**
 * Renders a draft and checks it, once the author stops typing. The former picture stays until the next one is there.
 */
import { useEffect, useMemo, useState } from 'react'
import {
  checkTemplate,
  previewTemplate,
  type TemplateCheck,
  type TemplatePreview,
} from '#dashboard/src/api/endpoints.ts'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { useApi } from '#dashboard/src/api/queries.ts'
import { useDebounced } from '#dashboard/src/ui/use-debounced.ts'
import type { CodeProblem } from './code-editor.tsx'
import { lineOfProblem, previewBody, type TemplateDraft } from './draft.ts'

const PREVIEW_MS = 350
const CHECK_MS = 900

export type Preview = TemplatePreview['data']
export type Finding = TemplateCheck['data']['findings'][number]

export interface PreviewState {
  /** The last one that could be rendered. */
  readonly preview: Preview | null
  /** Why the present source cannot be rendered. */
  readonly error: ApiError | null
  readonly isRendering: boolean
  /** There is no source, and so no picture. */
  readonly isEmpty: boolean
  readonly check: TemplateCheck['data'] | null
  /** Of the body, for the editor. */
  readonly problems: readonly CodeProblem[]
}

export function usePreview(draft: TemplateDraft, contactId: string | null): PreviewState {
  const settled = useDebounced(draft, PREVIEW_MS)
  const slow = useDebounced(draft, CHECK_MS)
  const body = useMemo(() => previewBody(settled, contactId), [settled, contactId])
  const checked = useMemo(() => previewBody(slow, contactId), [slow, contactId])
  const isReady = !isBlank(body.body)
  const rendered = useApi(previewTemplate, { body }, { isEnabled: isReady, keepsPrevious: true })
  const check = useApi(
    checkTemplate,
    { body: checked },
    { isEnabled: isReady && !isBlank(checked.body), keepsPrevious: true },
  )
  const [last, setLast] = useState<Preview | null>(null)
  const data = rendered.data?.data
  useEffect(() => {
    if (data !== undefined) setLast(data)
  }, [data])
  const error = rendered.error
  const findings = check.data?.data.findings
  const problems = useMemo(() => problemsOf(findings ?? [], error), [findings, error])
  return {
    preview: isReady ? (data ?? last) : null,
    error: isReady ? error : null,
    isRendering: rendered.isFetching || settled !== draft,
    isEmpty: !isReady,
    check: isReady ? (check.data?.data ?? null) : null,
    problems: isReady ? problems : NO_PROBLEMS,
  }
}

const NO_PROBLEMS: readonly CodeProblem[] = []

/** The API refuses to render nothing. */
function isBlank(source: string | null | undefined): boolean {
  return (source ?? '').trim() === ''
}

function problemsOf(findings: readonly Finding[], error: ApiError | null): readonly CodeProblem[] {
  const found = findings
    .filter(({ part, line }) => line !== null && (part === null || part === 'body'))
    .map(({ line, level, message }) => ({
      line: line ?? 1,
      severity: level === 'error' ? ('error' as const) : ('warning' as const),
      message,
    }))
  const line = error === null ? null : lineOfProblem(error.serverMessage)
  if (line === null || found.some((one) => one.severity === 'error')) return found
  return [{ line, severity: 'error', message: error?.message ?? '' }, ...found]
}
