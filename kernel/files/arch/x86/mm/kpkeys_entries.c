// SPDX-License-Identifier: GPL-2.0-only
/* Helpers that write entries, for where no section is open. */
#include <linux/export.h>
#include <linux/kpkeys.h>
#include <linux/pgtable.h>

/**
 * kpkeys_set_pte - native_set_pte() outside a section
 * @ptep: where
 * @pte: what
 */
void kpkeys_set_pte(pte_t *ptep, pte_t pte)
{
	guard(kpkeys_hardened_pgtables)();
	WRITE_ONCE(*ptep, pte);
}
EXPORT_SYMBOL_GPL(kpkeys_set_pte);

/**
 * kpkeys_clear_pte - native_ptep_get_and_clear() outside a section
 * @ptep: where
 *
 * Return: what was there.
 */
pte_t kpkeys_clear_pte(pte_t *ptep)
{
	guard(kpkeys_hardened_pgtables)();
	return native_make_pte(xchg(&ptep->pte, 0));
}
EXPORT_SYMBOL_GPL(kpkeys_clear_pte);

/**
 * kpkeys_wrprotect_pte - ptep_set_wrprotect() outside a section
 * @ptep: where
 */
void kpkeys_wrprotect_pte(pte_t *ptep)
{
	guard(kpkeys_hardened_pgtables)();
	___ptep_set_wrprotect(ptep);
}
EXPORT_SYMBOL_GPL(kpkeys_wrprotect_pte);
