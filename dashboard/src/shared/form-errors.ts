/** What is wrong with a form after the server refused it: each message beside its field, the rest above the buttons. */
import { useEffect } from 'react'
import type { ApiError } from '#dashboard/src/api/endpoint.ts'

export interface FormErrors {
  /** The message of a field and of everything in it; undefined if it is right. */
  readonly of: (path: string) => string | undefined
  /** What no field of the form shows; null if there is nothing. */
  readonly rest: string | null
}

/** @param fields the paths that the form shows */
export function formErrors(error: Pick<ApiError, 'details' | 'message'> | null, fields: readonly string[]): FormErrors {
  const details = error?.details ?? []
  const isIn = (path: string, field: string): boolean => path === field || path.startsWith(`${field}.`)
  const unshown = details.filter(({ path }) => !fields.some((field) => isIn(path, field)))
  const rest = details.length === 0 ? (error?.message ?? null) : unshown.map(describeProblem).join(' ')
  return {
    of: (field) => {
      const texts = details.filter(({ path }) => isIn(path, field)).map(({ message }) => toSentence(message))
      return texts.length === 0 ? undefined : texts.join(' ')
    },
    rest: rest === '' ? null : rest,
  }
}

/** What is wrong with a request, as one text: its fields if it names any, because its message is the first of them. */
export function describeError({ details, message }: Pick<ApiError, 'details' | 'message'>): string {
  return details.length === 0 ? message : details.map(describeProblem).join(' ')
}

/** A problem with the name of its field. */
function describeProblem({ path, message }: { readonly path: string; readonly message: string }): string {
  return path === '' || /^\p{Lu}/u.test(message) ? joinPath(path, message) : toSentence(`${path} ${message}`)
}

/** A whole sentence stands after a colon; others go on after the name of the field. */
function joinPath(path: string, sentence: string): string {
  return toSentence(path === '' ? sentence : `${path}: ${sentence}`)
}

function toSentence(text: string): string {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}

/** Moves the focus to the first field that is wrong, once the answer is shown. */
export function useFocusOnError(error: unknown): void {
  useEffect(() => {
    if (error !== null) document.querySelector<HTMLElement>('form [aria-invalid="true"]')?.focus()
  }, [error])
}
