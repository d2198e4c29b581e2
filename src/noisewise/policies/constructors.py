"""The constructors of all rules: the one list. Loading a rule's module registers the rule by its name."""

# In the order in which people read them: `noisewise rules` and the pages of the rules keep it.
# isort: off
from noisewise.policies.rules.ours.vage.vage import vage as vage
from noisewise.policies.rules.paper.vaee import vaee as vaee, vaee_as_printed as vaee_as_printed
from noisewise.policies.rules.paper.robust_vaee import robust_vaee as robust_vaee
from noisewise.policies.rules.paper.vagd import vagd as vagd, static_design as static_design
from noisewise.policies.rules.baselines.widest import widest as widest
from noisewise.policies.rules.baselines.uniform import uniform as uniform
from noisewise.policies.rules.baselines.round_robin import round_robin as round_robin
from noisewise.policies.rules.baselines.greedy import greedy as greedy
from noisewise.policies.rules.table_one.weighted_oful import weighted_oful as weighted_oful
from noisewise.policies.rules.table_one.weighted_oful_plus import weighted_oful_plus as weighted_oful_plus
from noisewise.policies.rules.table_one.save import save as save
from noisewise.policies.rules.table_one.voful.voful import voful as voful
from noisewise.policies.rules.table_one.voful.voful2 import voful2 as voful2
from noisewise.policies.rules.table_one.varcb import varcb as varcb
from noisewise.policies.rules.baselines.linear_thompson import linear_thompson as linear_thompson
from noisewise.policies.rules.table_one.linnats import linnats as linnats, linnats_unknown as linnats_unknown
from noisewise.policies.rules.baselines.oful import oful as oful
from noisewise.policies.rules.table_one.adaoful import adaoful as adaoful
from noisewise.policies.rules.identification.lingape import (
    lingape as lingape,
    weighted_lingape as weighted_lingape,
)
from noisewise.policies.rules.identification.frank_wolfe_sampling.frank_wolfe_sampling import (
    frank_wolfe_sampling as frank_wolfe_sampling,
)
from noisewise.policies.rules.identification.lingame import lingame as lingame
from noisewise.policies.rules.identification.phased_elimination import (
    phased_elimination as phased_elimination,
)
from noisewise.policies.rules.identification.rage import rage as rage
from noisewise.policies.rules.identification.information_directed import (
    information_directed as information_directed,
)
from noisewise.policies.rules.identification.h_rage import h_rage as h_rage
from noisewise.policies.rules.identification.peace import peace as peace
from noisewise.policies.rules.identification.od_linbai import od_linbai as od_linbai
from noisewise.policies.rules.ours.precision_tracking.precision_tracking import (
    precision_tracking as precision_tracking,
)
from noisewise.policies.rules.identification.top_two_thompson import top_two_thompson as top_two_thompson
from noisewise.policies.rules.identification.bayes_gap import bayes_gap as bayes_gap
