/** Completes variables and helpers after `{{`. */
import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import { TEMPLATE_HELPERS, TEMPLATE_VARIABLES } from './template-variables.ts'

export function createVariableCompletion(
  sampleNames: () => readonly string[],
): (context: CompletionContext) => CompletionResult | null {
  return (context) => {
    const typed = context.matchBefore(/\{\{[#/]?\s*[\w.]*$/)
    if (typed === null) return null
    const [opening = ''] = /^\{\{[#/]?\s*/.exec(typed.text) ?? []
    const closing = context.state.sliceDoc(context.pos, context.pos + 2) === '}}' ? '' : '}}'
    const names = [...new Set([...sampleNames(), ...Object.keys(TEMPLATE_VARIABLES)])]
    return {
      from: typed.from + opening.length,
      validFor: /^[\w.]*$/,
      options: [
        ...names.map((name) => ({
          label: name,
          type: 'variable',
          apply: name + closing,
          detail: TEMPLATE_VARIABLES[name] ?? '',
        })),
        ...Object.entries(TEMPLATE_HELPERS).map(([label, detail]) => ({ label, detail, type: 'function', boost: -1 })),
      ],
    }
  }
}
