export { suppressions } from '#dashboard/src/texts/en/suppressions.ts'
