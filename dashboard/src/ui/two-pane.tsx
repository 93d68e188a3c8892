import { ArrowLeft } from './icons.tsx'
import { type ReactNode } from 'react'
import { Button } from './button.tsx'
import { cx } from './class-names.ts'
import { useUiTexts } from './ui-texts.ts'

export interface TwoPaneProps {
  list: ReactNode
  /** null: nothing is chosen; wide screens show `placeholder`. */
  detail: ReactNode | null
  placeholder?: ReactNode
  onBack: () => void
  listLabel: string
  detailLabel: string
  /** Height of both panes on wide screens; a class. */
  heightClass?: string | undefined
}

/** A list beside the chosen item, as in a mail program. Phones show one of them. */
export function TwoPane(props: TwoPaneProps) {
  const { list, detail, placeholder, onBack, listLabel, detailLabel, heightClass = 'lg:h-[calc(100dvh-12rem)]' } = props
  const texts = useUiTexts()
  const hasDetail = detail !== null
  return (
    <div
      className={cx(
        'grid min-w-0 overflow-hidden rounded-lg border border-line bg-surface lg:grid-cols-[22rem_minmax(0,1fr)]',
        heightClass,
      )}
    >
      <section
        aria-label={listLabel}
        className={cx('min-h-0 min-w-0 overflow-y-auto border-line lg:border-r', hasDetail && 'max-lg:hidden')}
      >
        {list}
      </section>
      <section
        aria-label={detailLabel}
        className={cx('min-h-0 min-w-0 overflow-y-auto', !hasDetail && 'max-lg:hidden')}
      >
        {hasDetail && (
          <div className="border-b border-line p-2 lg:hidden">
            <Button variant="ghost" size="sm" icon={ArrowLeft} onClick={onBack}>
              {texts.back}
            </Button>
          </div>
        )}
        {detail ?? placeholder}
      </section>
    </div>
  )
}
