/**
 * The fields of a draft while they are edited: what a person typed is shown at once and saved a moment later. If a save
 * is refused, the changes stay and go out again with the next one, so nothing typed is lost; leaving the page saves
 * what is pending.
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'
import { updateCampaign, type UpdateCampaignBody } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import type { Campaign } from './campaign-state.ts'

const SAVE_AFTER_MS = 600

type FieldName =
  | 'name'
  | 'template_id'
  | 'subject'
  | 'body'
  | 'text'
  | 'from'
  | 'from_name'
  | 'reply_to'
  | 'audience_ids'
  | 'segment_id'
  | 'spread_minutes'
  | 'track_opens'
  | 'track_clicks'
/** As the API returns them. */
export type DraftFields = Pick<Campaign, FieldName> & {
  readonly test: { readonly subject_b: string; readonly percent: number; readonly minutes: number } | null
}
export type DraftChange = Partial<DraftFields>

export interface Draft {
  readonly id: string
  readonly fields: DraftFields
  readonly state: 'saved' | 'saving' | 'failed'
  readonly error: ApiError | null
  /** Saves after a moment. */
  change(change: DraftChange): void
  /** Saves now what is pending. */
  save(): void
}

export function useDraft(campaign: Campaign): Draft {
  const { id } = campaign
  const [edits, setEdits] = useState<DraftChange>({})
  const [error, setError] = useState<ApiError | null>(null)
  const [isPending, setPending] = useState(false)
  const pending = useRef<DraftChange>({})
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  const update = useAction(updateCampaign, {
    invalidates: ['/public/campaigns'],
    onSuccess: () => setError(null),
    onError: setError,
  })
  const { mutate } = update
  const save = useCallback(() => {
    if (timer.current !== null) clearTimeout(timer.current)
    timer.current = null
    const changed = pending.current
    pending.current = {}
    if (Object.keys(changed).length === 0) return
    mutate(
      { params: { id }, body: toBody(changed) },
      {
        onError: () => (pending.current = { ...changed, ...pending.current }),
        onSettled: () => setPending(timer.current !== null),
      },
    )
  }, [id, mutate])
  const change = useCallback(
    (changed: DraftChange) => {
      setEdits((old) => ({ ...old, ...changed }))
      setPending(true)
      pending.current = { ...pending.current, ...changed }
      if (timer.current !== null) clearTimeout(timer.current)
      timer.current = setTimeout(save, SAVE_AFTER_MS)
    },
    [save],
  )
  useEffect(() => save, [save])
  const isBusy = isPending || update.isPending
  return {
    id,
    fields: { ...campaign, ...edits },
    state: isBusy ? 'saving' : error === null ? 'saved' : 'failed',
    error: isBusy ? null : error,
    change,
    save,
  }
}

/** Empty texts clear a field. A test without its second subject is being written: until then there is none. */
function toBody(change: DraftChange): UpdateCampaignBody {
  const texts = Object.fromEntries(Object.entries(change).map(([name, value]) => [name, value === '' ? null : value]))
  const { test, name } = change
  return {
    ...texts,
    ...(name === undefined ? {} : { name }),
    ...(test === undefined ? {} : { test: test === null || test.subject_b === '' ? null : toTest(test) }),
  }
}

function toTest({ subject_b, percent, minutes }: NonNullable<DraftFields['test']>): NonNullable<DraftFields['test']> {
  return { subject_b, percent, minutes }
}
