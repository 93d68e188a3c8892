import { useVirtualizer, useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useState, type RefObject } from 'react'

interface VirtualRowsOptions {
  count: number
  rowHeight: number
  /** The element that scrolls, if `isBox`; else the element whose start in the page counts. */
  box: RefObject<HTMLElement | null>
  isBox: boolean
}

export interface VirtualRows {
  rows: readonly { index: number; start: number; end: number }[]
  /** Height of the rows above the first and below the last shown one. */
  before: number
  after: number
  scrollToIndex: (index: number) => void
  /** The ref of a row with `data-row`: one whose text wraps is higher. */
  measure: (row: Element | null) => void
}

const OVERSCAN = 12
/** Shorter lists are rendered whole: searching in the page finds all of them. */
const MIN_VIRTUAL_ROWS = 120

/** The rows near the visible part of a long list, in a box or in the page. */
export function useVirtualRows({ count, rowHeight, box, isBox }: VirtualRowsOptions): VirtualRows | null {
  const [scrollMargin, setScrollMargin] = useState(0)
  const isVirtual = count > MIN_VIRTUAL_ROWS
  useLayoutEffect(() => {
    if (isBox || !isVirtual || box.current === null) return
    setScrollMargin(box.current.getBoundingClientRect().top + scrollY)
  }, [isBox, isVirtual, box])
  const shared = { count, estimateSize: () => rowHeight, overscan: OVERSCAN, indexAttribute: 'data-row' }
  const inBox = useVirtualizer<HTMLElement, Element>({
    ...shared,
    getScrollElement: () => box.current,
    enabled: isVirtual && isBox,
  })
  const inPage = useWindowVirtualizer<Element>({ ...shared, scrollMargin, enabled: isVirtual && !isBox })
  if (!isVirtual) return null
  const virtualizer = isBox ? inBox : inPage
  const rows = virtualizer.getVirtualItems()
  const offset = isBox ? 0 : scrollMargin
  const total = virtualizer.getTotalSize()
  return {
    rows,
    before: Math.max((rows[0]?.start ?? offset) - offset, 0),
    after: Math.max(total - ((rows.at(-1)?.end ?? offset) - offset), 0),
    scrollToIndex: (index) => virtualizer.scrollToIndex(index),
    measure: virtualizer.measureElement,
  }
}
