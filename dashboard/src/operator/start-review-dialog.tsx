import { useNavigate } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { adminReviewSuppressions } from '#dashboard/src/api/endpoints.ts'
import { useAction } from '#dashboard/src/api/queries.ts'
import { operatorPath } from '#dashboard/src/shell/paths.ts'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { RadioCards } from '#dashboard/src/ui/radio-cards.tsx'
import { ActionDialog } from './action-dialog.tsx'

const CHOICES = ['list', 'lift'] as const
type Choice = (typeof CHOICES)[number]

/** Starts a review and opens its page; the page shows the progress. */
export function useStartReview(): (lift: boolean) => Promise<void> {
  const navigate = useNavigate()
  const start = useAction(adminReviewSuppressions, {
    invalidates: ['/admin/suppression-reviews', '/admin/actions'],
    onError: () => undefined,
  })
  return async (lift) => {
    const { data } = await start.mutateAsync({ body: { lift, wait: false } })
    await navigate({ to: operatorPath(`/reviews/${data.id}`) })
  }
}

export function StartReviewDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { suppressionReviews: texts } = useTexts()
  const [choice, setChoice] = useState<Choice>('list')
  const start = useStartReview()
  return (
    <ActionDialog
      title={texts.start}
      text={texts.startText}
      label={texts.start}
      isDanger={choice === 'lift'}
      fields={['lift']}
      run={() => start(choice === 'lift')}
      onClose={onClose}
    >
      {(errors) => (
        <Field label={texts.what} error={errors.of('lift')}>
          <RadioCards
            value={choice}
            onChange={setChoice}
            columns={1}
            options={CHOICES.map((value) => ({
              value,
              label: texts.choices[value].label,
              description: texts.choices[value].text,
            }))}
          />
        </Field>
      )}
    </ActionDialog>
  )
}
