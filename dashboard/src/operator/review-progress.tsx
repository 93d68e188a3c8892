/** How far a review of suppressions is. */
import type { ReactNode } from 'react'
import type { SuppressionReviewProgress } from '#dashboard/src/api/endpoints.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { StatusBadge } from '#dashboard/src/ui/badge.tsx'
import { Progress } from '#dashboard/src/ui/meter.tsx'
import type { Tone } from '#dashboard/src/ui/tone.ts'

type State = SuppressionReviewProgress['state']
type Review = Pick<SuppressionReviewProgress, 'state' | 'checked' | 'total'>

const TONES: Readonly<Record<State, Tone>> = { waiting: 'info', running: 'accent', done: 'success' }

export function ReviewState({ state }: { readonly state: State }): ReactNode {
  const { suppressionReviews: texts } = useTexts()
  return (
    <StatusBadge tone={TONES[state]} isLive={state === 'running'}>
      {texts.states[state]}
    </StatusBadge>
  )
}

export function ReviewProgress({ review }: { readonly review: Review }): ReactNode {
  const { suppressionReviews: texts } = useTexts()
  const { state, checked, total } = review
  return (
    <div role="status">
      <Progress
        label={texts.progress}
        isLabelHidden
        share={shareOf(review)}
        tone={TONES[state]}
        text={texts.checked(checked, total)}
      />
    </div>
  )
}

/** The list may grow while it is checked. Null: its length is not known. */
function shareOf({ state, checked, total }: Review): number | null {
  if (state === 'done') return 1
  return total === null || total === 0 ? null : Math.min(1, checked / total)
}
